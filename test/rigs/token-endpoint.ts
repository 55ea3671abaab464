import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ownHost } from './own-host.ts'

/** What the endpoint does instead of giving a token. */
export type TokenAct =
  | {
      readonly is: 'answer'
      readonly status: number
      readonly body: string
      readonly headers?: Readonly<Record<string, string>>
    }
  /** Never answers. */
  | { readonly is: 'stall' }
  /** Ends the connection without a word. */
  | { readonly is: 'drop' }
  /** Gives a token, later. */
  | { readonly is: 'wait'; readonly ms: number }

export interface TokenEndpointOptions {
  /** What a token lives, s; undefined: the answer does not say. */
  readonly expiresIn?: number | string | undefined
  /** The refresh token that the first request has to have; a new one comes with each answer when `rotates`. */
  readonly refreshToken?: string
  readonly rotates?: boolean
}

export const CLIENT = { id: 'client-of-a-test', secret: 'canary-client-secret' }

/** A token endpoint (RFC 6749, 3.2) that gives numbered tokens and can be told to misbehave. */
export async function startTokenEndpoint(options: TokenEndpointOptions = {}) {
  const requests: { readonly path: string; readonly form: URLSearchParams }[] = []
  const issued: string[] = []
  let refreshToken = options.refreshToken
  const rig = { act: undefined as TokenAct | undefined, options }

  function judge(form: URLSearchParams): { status: number; body: object } {
    if (form.get('client_id') !== CLIENT.id || form.get('client_secret') !== CLIENT.secret)
      return { status: 401, body: { error: 'invalid_client', error_codes: [7000215] } }
    const wanted = refreshToken === undefined ? 'client_credentials' : 'refresh_token'
    if (form.get('grant_type') !== wanted) return { status: 400, body: { error: 'unauthorized_client' } }
    if (refreshToken !== undefined && form.get('refresh_token') !== refreshToken)
      return { status: 400, body: { error: 'invalid_grant', error_description: 'Token has been revoked.' } }
    // Letters alone: what looks like a code would be taken out of any reply.
    const token = `canary.access-token/${'x'.repeat(issued.length + 1)}`
    issued.push(token)
    if (rig.options.rotates === true) refreshToken = `canary-rotated-${'x'.repeat(issued.length)}`
    return {
      status: 200,
      body: {
        token_type: 'Bearer',
        access_token: token,
        expires_in: rig.options.expiresIn,
        ...(rig.options.rotates === true && { refresh_token: refreshToken }),
      },
    }
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => void chunks.push(chunk))
    request.on('end', () => {
      const form = new URLSearchParams(Buffer.concat(chunks).toString())
      requests.push({ path: request.url ?? '', form })
      const { act } = rig
      if (act?.is === 'stall') return
      if (act?.is === 'drop') return void request.socket.destroy()
      const give = (): void => {
        const { status, body } = judge(form)
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      }
      if (act?.is === 'answer') response.writeHead(act.status, act.headers).end(act.body)
      else if (act?.is === 'wait') setTimeout(give, act.ms)
      else give()
    })
  })
  const host = ownHost()
  await new Promise<void>(resolve => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(rig, {
    url: `http://${host}:${port}/tenant/oauth2/v2.0/token?p=1`,
    requests,
    /** All tokens that it gave, in order. */
    issued,
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  })
}

export type TokenEndpointRig = Awaited<ReturnType<typeof startTokenEndpoint>>
