/** An access token and the end of its life, ms by the clock of its cache; Infinity: it is used until it is refused. */
export interface AccessToken {
  readonly token: string
  readonly expiresAt: number
}

/** One access token that all share. */
export interface TokenCache<Failure extends object> {
  /** Gives a token that is valid now; asks for one when there is none. */
  getToken(): Promise<AccessToken | Failure>
  /**
   * The other side does not take this token: the next one who wants one asks. A token that was replaced already is ignored.
   * @param leastAgeMs a younger one is kept: whoever is refused for anything else must not ask again and again.
   */
  refused(token: string, leastAgeMs?: number): void
}

/** A new one is asked for once this share of its life is over. */
const RENEW_AFTER = 0.8
/** The pause after an early renewal that failed, ms: the present token is still valid. */
const RENEW_AGAIN_MS = 30_000

/**
 * Keeps an access token: asks for it when it is first wanted, again when it was refused, and early when its life is known. However
 * many want it at once, it is asked for once, and all of them get what came.
 *
 * @param ask gives a token and its life, ms, which counts from the question on.
 * @param now ms since any origin.
 */
export function createTokenCache<Failure extends object>(
  ask: () => Promise<{ readonly token: string; readonly livesMs: number } | Failure>,
  now: () => number,
): TokenCache<Failure> {
  let current: AccessToken | undefined
  let gotAt = 0
  let renewAt = 0
  let renewal: Promise<AccessToken | Failure> | undefined

  async function renew(): Promise<AccessToken | Failure> {
    const askedAt = now()
    const got = await ask()
    if (!('token' in got)) return got
    gotAt = askedAt
    renewAt = askedAt + got.livesMs * RENEW_AFTER
    current = { token: got.token, expiresAt: askedAt + got.livesMs }
    return current
  }

  function renewOnce(): Promise<AccessToken | Failure> {
    renewal ??= renew().finally(() => {
      renewal = undefined
    })
    return renewal
  }

  return {
    async getToken() {
      const at = now()
      if (current === undefined || at >= current.expiresAt) return renewOnce()
      if (at >= renewAt) {
        renewAt = at + RENEW_AGAIN_MS
        // Nobody waits for this renewal. A failure shows when the present token has ended; a bug is found then, too.
        renewOnce().catch(() => undefined)
      }
      return current
    },
    refused(token, leastAgeMs = 0) {
      if (current?.token === token && now() - gotAt >= leastAgeMs) current = undefined
    },
  }
}
