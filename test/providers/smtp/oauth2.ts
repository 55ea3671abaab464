import type { Test } from 'tap'
import { type AccessTokens, createAccessTokens } from '../../../src/providers/smtp/oauth2.ts'
import { tokenLimits } from '../../../src/providers/smtp/settings.ts'
import { tokenLoginOf } from '../../rigs/smtp-server.ts'
import {
  CLIENT,
  startTokenEndpoint,
  type TokenEndpointOptions,
  type TokenEndpointRig,
} from '../../rigs/token-endpoint.ts'
import { SHORT_SMTP } from '../short.ts'
import { createSmtpServer, openSmtp } from './rig.ts'

export const USER = 'courier@example.com'

/** Access tokens of an endpoint of a test. */
export function openTokens(
  { url, options }: Pick<TokenEndpointRig, 'url' | 'options'>,
  { secret = CLIENT.secret, now = Date.now }: { secret?: string | null; now?: () => number } = {},
): AccessTokens {
  const { refreshToken } = options
  const clientSecret = secret ?? undefined
  const endpoint = { url, clientId: CLIENT.id, clientSecret, refreshToken, scope: 'mail.send' }
  return createAccessTokens(endpoint, { clock: { now }, limits: tokenLimits(SHORT_SMTP) })
}

/** A mail server that takes the tokens of `taken`, or those of the endpoint, and a provider in front of it. */
export async function startOauth2(
  t: Test,
  {
    challenges = false,
    connections = 1,
    ...options
  }: TokenEndpointOptions & { readonly challenges?: boolean; readonly connections?: number } = {},
) {
  const endpoint = await startTokenEndpoint({ expiresIn: 3600, ...options })
  const revoked = new Set<string>()
  const takes = (who: string, token: string) =>
    who === USER && endpoint.issued.includes(token) && !revoked.has(token)
  const server = createSmtpServer({ xoauth2: { takes, challenges } })
  const { port } = await server.listen()
  const tokens = openTokens(endpoint)
  const provider = openSmtp({
    url: `smtp://${encodeURIComponent(USER)}@127.0.0.1:${port}?ignoreTLS=true`,
    connections,
    bounceTo: USER,
    accessTokens: tokens,
  })
  t.teardown(() => Promise.all([provider.close(), server.close(), endpoint.close()]))
  /** The tokens that were shown to the server, each as often as it was. */
  const shown = () =>
    server.connections
      .flatMap(({ commands }) => commands)
      .flatMap(line => /^AUTH XOAUTH2 (.*)$/.exec(line)?.[1] ?? [])
      .map(initial => tokenLoginOf(initial).token)
  return { endpoint, server, provider, tokens, revoked, shown, port }
}
