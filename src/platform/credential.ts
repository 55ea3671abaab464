import type { Granted } from './logins.ts'
import type { Result } from './result.ts'

/** A credential that is logged in for when it is needed. */
export interface Credential {
  /** The access token; logs in first when there is none, or when it is about to end. One login at a time. */
  token(): Promise<Result<string>>
  /** The platform refused this token: the next one that asks logs in. A token that was replaced already is ignored. */
  refused(token: string): void
}

export interface CredentialOptions {
  readonly login: () => Promise<Result<Granted>>
  /** ms since any origin, never going back. */
  readonly now: () => number
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const DAY = 24 * 60 * MINUTE
/** What a platform may sensibly grant a token for. */
const SHORTEST_IN_SECONDS = MINUTE
const SHORTEST_IN_MS = 10 * MINUTE
const LONGEST = 90 * DAY
/** The part of its life after which a token is replaced. */
const EARLY = 0.9
/** After an early login that failed, the old token is used on, and the next is tried so much later, ms. */
const AGAIN_AFTER = 10 * SECOND

/**
 * The life that `expire_in` states, in ms, or null when it cannot be told.
 *
 * The contract gives it no unit. A value that makes sense as milliseconds (10 minutes to 90 days) is taken for that,
 * else one that makes sense as seconds (a minute to 90 days). Where both do (600,000 to 7,776,000) milliseconds are
 * the shorter life: a login too early costs one request, one too late a refusal.
 */
export function lifetimeMs(expireIn: number | null): number | null {
  if (expireIn === null) return null
  if (expireIn >= SHORTEST_IN_MS && expireIn <= LONGEST) return expireIn
  const seconds = expireIn * SECOND
  return seconds >= SHORTEST_IN_SECONDS && seconds <= LONGEST ? seconds : null
}

/**
 * Keeps one credential: logs in when first asked, again when it was refused, and early when its life can be told.
 * However many ask at once, there is one login, and all of them get what it gave.
 */
export function createCredential({ login, now }: CredentialOptions): Credential {
  let held: { readonly token: string; readonly renewAt: number } | undefined
  let running: Promise<Result<string>> | undefined

  async function logIn(): Promise<Result<string>> {
    const result = await login()
    if (result.ok) {
      const life = lifetimeMs(result.value.expireIn)
      held = {
        token: result.value.accessToken,
        renewAt: life === null ? Number.POSITIVE_INFINITY : now() + life * EARLY,
      }
      return { ok: true, value: held.token }
    }
    if (held === undefined) return result
    // Only early: what is held may well be good still, and is refused when it is not.
    held = { token: held.token, renewAt: now() + AGAIN_AFTER }
    return { ok: true, value: held.token }
  }

  return {
    token() {
      if (running !== undefined) return running
      if (held !== undefined && now() < held.renewAt) return Promise.resolve({ ok: true, value: held.token })
      running = logIn().finally(() => {
        running = undefined
      })
      return running
    },
    refused(token) {
      if (held?.token === token) held = undefined
    },
  }
}
