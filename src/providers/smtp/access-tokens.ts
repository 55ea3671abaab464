import { createHttpApi, type HttpApiSettings } from '../http-client.ts'
import {
  failureWithoutAnswer,
  readTokenAnswer,
  type TokenEndpoint,
  type TokenFailure,
} from './token-answer.ts'

export interface AccessTokensOptions extends Omit<HttpApiSettings, 'ca'> {
  /** From 0 to 1. */
  readonly random: () => number
}

export interface AccessToken {
  readonly token: string
  /** ms since the epoch. */
  readonly expiresAt: number
}

/** A new one is asked for once this share of its life is over, or a little less, so that replicas do not ask together. */
const RENEW_AFTER = { least: 0.7, most: 0.85 }
/** The pause after an early renewal that failed, ms: the present token is still valid. */
const RENEW_AGAIN_MS = 30_000

/** The latest tokens that are kept out of servers' replies: a connection may last longer than its token. */
const REMEMBERED = 20

export type AccessTokens = ReturnType<typeof createAccessTokens>

/**
 * Asks an OAuth 2.0 token endpoint for access tokens for a mail server: once for all who wait, and before the present one
 * ends. All connections share the newest.
 */
export function createAccessTokens(endpoint: TokenEndpoint, options: AccessTokensOptions) {
  const { clock, random } = options
  const client = createGrantClient(endpoint, options)
  // A server that replaces the refresh token may refuse the earlier one from then on (RFC 6749, 6).
  let refreshToken = endpoint.refreshToken
  let current: AccessToken | undefined
  let renewAt = 0
  let renewal: Promise<AccessToken | TokenFailure> | undefined
  const lasting = [endpoint.clientSecret, endpoint.refreshToken].filter(each => each !== undefined)
  let secrets: readonly string[] = lasting

  async function requestToken(): Promise<AccessToken | TokenFailure> {
    const askedAt = clock.now()
    const answer = await client.ask(refreshToken, secrets)
    if ('whose' in answer) return answer
    refreshToken = answer.refreshToken ?? refreshToken
    current = { token: answer.token, expiresAt: askedAt + answer.livesMs }
    renewAt =
      askedAt + answer.livesMs * (RENEW_AFTER.least + random() * (RENEW_AFTER.most - RENEW_AFTER.least))
    const issued = [answer.token, answer.refreshToken].filter(each => each !== undefined)
    secrets = [...lasting, ...[...secrets.slice(lasting.length), ...issued].slice(-REMEMBERED)]
    return current
  }

  function renewOnce(): Promise<AccessToken | TokenFailure> {
    renewal ??= requestToken().finally(() => {
      renewal = undefined
    })
    return renewal
  }

  return {
    /** Gives a token that is valid now; asks for one when there is none. */
    async getToken(): Promise<AccessToken | TokenFailure> {
      const now = clock.now()
      if (current === undefined || now >= current.expiresAt) return renewOnce()
      if (now >= renewAt) {
        renewAt = now + RENEW_AGAIN_MS
        // No mail waits for this renewal. A failure shows when the present token has ended; a bug is found then, too.
        renewOnce().catch(() => undefined)
      }
      return current
    },
    /** Gives a newer one than `refused`, which a server did not take although it should be valid. */
    async renewToken(refused: AccessToken): Promise<AccessToken | TokenFailure> {
      return current === undefined || current.token === refused.token ? renewOnce() : current
    },
    /** Texts that no reply may repeat: client secret, refresh and access tokens. */
    secrets: (): readonly string[] => secrets,
    /** Says whether the endpoint has replaced the refresh token of the settings by another one. */
    hasRotated: (): boolean => refreshToken !== endpoint.refreshToken,
    close: (): Promise<void> => client.close(),
  }
}

/** Asks the endpoint, and reads what it answers. */
function createGrantClient(endpoint: TokenEndpoint, options: AccessTokensOptions) {
  const { origin, pathname, search } = new URL(endpoint.url)
  const api = createHttpApi({ ...options, baseUrl: origin, connections: 1 })
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
  return {
    async ask(refreshToken: string | undefined, secrets: readonly string[]) {
      const body = grantForm(endpoint, refreshToken)
      const request = { method: 'POST', path: `${pathname}${search}`, headers, body }
      const result = await api.request(request, answer => answer)
      if (!('value' in result)) return failureWithoutAnswer(result, endpoint.url)
      return readTokenAnswer(result.value, { endpoint, secrets, now: options.clock.now() })
    },
    close: api.close,
  }
}

/** Makes the form of the request. The client's secret is a field of it, as Microsoft's and Google's documentation have it. */
function grantForm(
  { clientId, clientSecret, scope }: TokenEndpoint,
  refreshToken: string | undefined,
): string {
  const grant =
    refreshToken === undefined
      ? { grant_type: 'client_credentials' }
      : { grant_type: 'refresh_token', refresh_token: refreshToken }
  const form = { ...grant, client_id: clientId, client_secret: clientSecret, scope }
  const given = Object.entries(form).filter((field): field is [string, string] => field[1] !== undefined)
  return new URLSearchParams(given).toString()
}
