import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'
/** Environment of a front-end API behind the gateway: production, test, pre-production. */
export type Stage = 'RELEASE' | 'TEST' | 'PRE_RELEASE'

/** The parts of a request, as it goes out, that a signature may be made from. */
export interface Signable {
  readonly method: Method
  /** With its query, as sent. */
  readonly path: string
  /** Every header that the signature mechanism names, but Signature itself. */
  readonly headers: Readonly<Record<string, string>>
  /** Empty without a body. */
  readonly body: string
}

/**
 * The signature mechanism. How a signature is computed is not published, so that is a function of the caller's.
 */
export interface Signing {
  readonly appId: string
  readonly sign: (request: Signable) => string | Promise<string>
  /** For `Timestamp`, whose form the contract does not give. */
  readonly timestamp: () => string
  readonly requestId: () => string
  /** How `Content-MD5` is written: `base64` as RFC 1864 has it (default), or `hex`. */
  readonly md5?: 'base64' | 'hex'
}

export interface HeaderOptions {
  /** Enterprise identifier, for calls made with platform-level permission. */
  readonly corpId?: string
  readonly apiVersion?: string
  /** Front-end API identifier, for the gateway. */
  readonly group?: string
  readonly stage?: Stage
}

/** The method that a call goes out with: POST and XR-Method for PUT and DELETE, unless they are to go as they are. */
export function methodToSend(
  method: Method,
  direct: boolean,
): { readonly method: Method; readonly proxied: boolean } {
  const proxied = !direct && (method === 'PUT' || method === 'DELETE')
  return { method: proxied ? 'POST' : method, proxied }
}

export function plainHeaders(
  { corpId, apiVersion, group, stage }: HeaderOptions,
  proxiedAs?: Method,
): Record<string, string> {
  return {
    'content-type': 'application/json',
    ...(corpId !== undefined && { 'corp-id': corpId }),
    ...(apiVersion !== undefined && { 'api-version': apiVersion }),
    ...(group !== undefined && { group }),
    ...(stage !== undefined && { stage }),
    ...(proxiedAs !== undefined && { 'xr-method': proxiedAs }),
  }
}

/** The headers of the signature mechanism, Signature included. Content-MD5 on POST and PUT, as the contract requires. */
export async function signatureHeaders(
  signing: Signing,
  request: Omit<Signable, 'headers'>,
  headers: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const own = {
    'app-id': signing.appId,
    timestamp: signing.timestamp(),
    'request-id': signing.requestId(),
    ...(request.method === 'POST' || request.method === 'PUT'
      ? { 'content-md5': contentMd5(request.body, signing.md5 ?? 'base64') }
      : {}),
  }
  const signature = await signing.sign({ ...request, headers: { ...headers, ...own } })
  return { ...own, signature }
}

/** MD5 of the request content (RFC 1321); the contract does not say how it is written. */
export function contentMd5(body: string, encoding: 'base64' | 'hex'): string {
  return createHash('md5').update(Buffer.from(body, 'utf8')).digest(encoding)
}
