import { createHmac, hash } from 'node:crypto'

/** An API key. */
export interface TencentLogin {
  readonly secretId: string
  readonly secretKey: string
}

/**
 * The Authorization header of a POST to `/` without a query, by TC3-HMAC-SHA256
 * (https://cloud.tencent.com/document/api/382/52072).
 *
 * @param body as it is sent.
 * @param headers to sign, in lower case: content-type exactly as it is sent, and host without a port.
 * @param timestamp as in X-TC-Timestamp: seconds since the epoch.
 * @param service that the host belongs to.
 */
export function signRequest(
  body: string,
  headers: Readonly<Record<string, string>>,
  timestamp: number,
  { secretId, secretKey }: TencentLogin,
  service = 'sms',
): string {
  const names = Object.keys(headers).sort()
  const signedHeaders = names.join(';')
  const canonicalRequest = [
    'POST',
    '/',
    '',
    ...names.map(name => `${name}:${(headers[name] ?? '').trim().toLowerCase()}`),
    '',
    signedHeaders,
    hash('sha256', body, 'hex'),
  ].join('\n')
  const date = new Date(timestamp * 1000).toISOString().slice(0, 10)
  const scope = `${date}/${service}/tc3_request`
  const stringToSign = `TC3-HMAC-SHA256\n${timestamp}\n${scope}\n${hash('sha256', canonicalRequest, 'hex')}`
  const key = hmac(hmac(hmac(`TC3${secretKey}`, date), service), 'tc3_request')
  const signature = hmac(key, stringToSign).toString('hex')
  return `TC3-HMAC-SHA256 Credential=${secretId}/${scope}, SignedHeaders=${signedHeaders}, Signature=${signature}`
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
