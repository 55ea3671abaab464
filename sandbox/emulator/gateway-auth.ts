import { contentMd5 } from '../../src/platform/headers.ts'
import type { Tokens } from './accounts.ts'
import type { Code } from './api-answers.ts'

export type Headers = Readonly<Record<string, string | undefined>>

/** Why a request is refused, and the header that it is about. */
export interface AuthRefusal {
  readonly code: Code
  readonly detail: string
}

export interface GatewayAuthOptions {
  readonly tokens: Tokens
  readonly appId: string
  /** Verifies a signature. The platform does not publish how it is computed: without this, any signature is accepted. */
  readonly verifySignature?: (request: {
    readonly method: string
    readonly path: string
    readonly headers: Headers
    readonly body: string
  }) => boolean
}

const STAGES = new Set(['RELEASE', 'TEST', 'PRE_RELEASE'])

/**
 * Authenticates requests by the gateway's rules for headers. A Signature counts only when there is no Access-Token.
 *
 * With a signature, every header that the contract requires for it must be there, and Content-MD5 must be that of the
 * body, in base64 or hex. With a token, Group and Stage may be missing, since the example call lists neither; an unknown
 * Stage is refused all the same.
 *
 * @returns a function that gives null when the request is accepted.
 */
export function createGatewayAuth({ tokens, appId, verifySignature }: GatewayAuthOptions) {
  return (method: string, path: string, headers: Headers, body: string): AuthRefusal | null => {
    const given = (name: string) => (headers[name] ?? '').trim()
    const stage = given('stage')
    if (stage !== '' && !STAGES.has(stage)) return { code: 'invalid', detail: 'Stage' }
    const token = given('access-token')
    if (token !== '') {
      const holder = tokens.holderOf(token)
      // "A B-side or C-side access_token": an application's is for DDQ.
      return holder === 'corp' || holder === 'user' ? null : { code: 'forbidden', detail: 'Access-Token' }
    }
    if (given('signature') === '') return { code: 'noToken', detail: 'neither Access-Token nor Signature' }

    for (const name of ['Group', 'Stage', 'App-ID', 'Timestamp', 'Request-ID'])
      if (given(name.toLowerCase()) === '') return { code: 'empty', detail: name }
    if (method === 'POST' || method === 'PUT') {
      const md5 = given('content-md5')
      if (md5 === '') return { code: 'empty', detail: 'Content-MD5' }
      const right = md5 === contentMd5(body, 'base64') || md5.toLowerCase() === contentMd5(body, 'hex')
      if (!right) return { code: 'invalid', detail: 'Content-MD5' }
    }
    if (given('app-id') !== appId) return { code: 'forbidden', detail: 'App-ID' }
    if (verifySignature !== undefined && !verifySignature({ method, path, headers, body }))
      return { code: 'forbidden', detail: 'Signature' }
    return null
  }
}
