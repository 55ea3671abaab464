import { createHmac, hash } from 'node:crypto'

/** An AccessKey. */
export interface AliyunLogin {
  readonly keyId: string
  readonly secret: string
}

/**
 * The Authorization header of a POST to `/` with an empty body, by ACS3-HMAC-SHA256
 * (https://help.aliyun.com/zh/sdk/product-overview/v3-request-structure-and-signature).
 *
 * @param query the parameters, not encoded.
 * @param headers all headers to sign, in lower case: host as it is sent, and every x-acs-* there is.
 */
export function signRequest(
  query: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>>,
  { keyId, secret }: AliyunLogin,
): string {
  const names = Object.keys(headers).sort()
  const signedHeaders = names.join(';')
  const canonicalRequest = [
    'POST',
    '/',
    encodeQuery(query),
    ...names.map(name => `${name}:${(headers[name] ?? '').trim()}`),
    '',
    signedHeaders,
    EMPTY_BODY_HASH,
  ].join('\n')
  const stringToSign = `ACS3-HMAC-SHA256\n${hash('sha256', canonicalRequest, 'hex')}`
  const signature = createHmac('sha256', secret).update(stringToSign).digest('hex')
  return `ACS3-HMAC-SHA256 Credential=${keyId},SignedHeaders=${signedHeaders},Signature=${signature}`
}

/** SHA-256 of nothing: all parameters are in the query. */
export const EMPTY_BODY_HASH = hash('sha256', '', 'hex')

/** A query as it is signed: names in the order of their code units, RFC 3986 encoding. It is sent like this as well. */
export function encodeQuery(query: Readonly<Record<string, string>>): string {
  return Object.keys(query)
    .sort()
    .map(name => `${encode(name)}=${encode(query[name] ?? '')}`)
    .join('&')
}

/** Encodes all but `A-Z a-z 0-9 - _ . ~`. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
