import { contentMd5 } from '../../src/platform/headers.ts'
import type { Tokens } from './accounts.ts'
import type { Code } from './api-answers.ts'

export type Headers = Readonly<Record<string, string | undefined>>

/** Why a caller is not let in, and which header it is about. */
export interface Refusal {
  readonly code: Code
  readonly detail: string
}

export interface GateOptions {
  readonly tokens: Tokens
  readonly appId: string
  /** Judges a signature. Its computation is not published: unless one is given, any signature is right. */
  readonly signed?: (request: {
    readonly method: string
    readonly path: string
    readonly headers: Headers
    readonly body: string
  }) => boolean
}

const STAGES = new Set(['RELEASE', 'TEST', 'PRE_RELEASE'])

/**
 * The gateway's rules for headers. A token comes first: a Signature counts only when there is no Access-Token.
 *
 * With a signature, every header that the contract requires for it is insisted on, and Content-MD5 must be that of the
 * body, in base64 or hex. With a token, Group and Stage are not insisted on, since the example call lists neither; a
 * Stage that is no stage is refused all the same.
 *
 * @returns null when the call may go on.
 */
export function createGate({ tokens, appId, signed }: GateOptions) {
  return (method: string, path: string, headers: Headers, body: string): Refusal | null => {
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
    if (signed !== undefined && !signed({ method, path, headers, body }))
      return { code: 'forbidden', detail: 'Signature' }
    return null
  }
}
