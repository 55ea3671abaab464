import { createHmac, createSecretKey, hash } from 'node:crypto'

/** SHA-256 as hex digits. */
export function sha256(text: string): string {
  return hash('sha256', text, 'hex')
}

/** Node takes three times as long for a key in a Buffer as for one in a KeyObject, its making included. */
export function hmacSha256(key: string | Buffer, text: string): Buffer {
  const secret = typeof key === 'string' ? key : createSecretKey(key)
  return createHmac('sha256', secret).update(text).digest()
}

/**
 * A POST to `/` in the canonical form that the signatures of the clouds share, those of Amazon, Aliyun and Tencent among them.
 *
 * @param query as it is sent.
 * @param headers all headers to sign, in lower case.
 * @param body as it is sent.
 */
export function canonicalPost(
  query: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): { readonly text: string; readonly signedHeaders: string } {
  const names = Object.keys(headers).sort()
  const signedHeaders = names.join(';')
  const lines = names.map(name => `${name}:${headers[name] ?? ''}`)
  return { text: ['POST', '/', query, ...lines, '', signedHeaders, sha256(body)].join('\n'), signedHeaders }
}

/** A query as it is signed and sent: names in the order of their code units, in the encoding of RFC 3986. */
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
