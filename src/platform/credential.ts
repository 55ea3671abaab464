import type { GrantedToken } from './logins.ts'
import type { PlatformResult } from './result.ts'

export interface CredentialOptions {
  readonly login: () => Promise<PlatformResult<GrantedToken>>
  /** ms since any origin, never going back. */
  readonly now: () => number
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const DAY = 24 * 60 * MINUTE
/** Bounds of a sensible lifetime of a token. */
const SHORTEST_IN_SECONDS = MINUTE
const SHORTEST_IN_MS = 10 * MINUTE
const LONGEST = 90 * DAY
/** The part of its lifetime after which a token is replaced. */
const EARLY = 0.9
/** After an early login that failed, the old token is used on, and the next is tried so much later, ms. */
const RETRY_AFTER = 10 * SECOND

/**
 * The lifetime that `expire_in` states, in ms, or null when it is not known.
 *
 * The contract gives it no unit. A value that makes sense as milliseconds (10 minutes to 90 days) is taken for that,
 * else one that makes sense as seconds (a minute to 90 days). Where both do (600,000 to 7,776,000) milliseconds are
 * the shorter one: a login too early costs one request, one too late a refusal.
 */
export function lifetimeMs(expireIn: number | null): number | null {
  if (expireIn === null) return null
  if (expireIn >= SHORTEST_IN_MS && expireIn <= LONGEST) return expireIn
  const seconds = expireIn * SECOND
  return seconds >= SHORTEST_IN_SECONDS && seconds <= LONGEST ? seconds : null
}

export type Credential = ReturnType<typeof createCredential>

/**
 * An access token that is obtained by logging in when it is needed.
 * Keeps one credential: logs in when first asked, again when it was refused, and early when its lifetime is known.
 * However many ask at once, there is one login, and all of them get what it gave.
 */
export function createCredential({ login, now }: CredentialOptions) {
  let current: { readonly token: string; readonly renewAt: number } | undefined
  let running: Promise<PlatformResult<string>> | undefined

  async function logIn(): Promise<PlatformResult<string>> {
    const result = await login()
    if (result.ok) {
      const lifetime = lifetimeMs(result.value.expireIn)
      current = {
        token: result.value.accessToken,
        renewAt: lifetime === null ? Number.POSITIVE_INFINITY : now() + lifetime * EARLY,
      }
      return { ok: true, value: current.token }
    }
    if (current === undefined) return result
    // The login was early: the current token may well be good still, and is refused when it is not.
    current = { token: current.token, renewAt: now() + RETRY_AFTER }
    return { ok: true, value: current.token }
  }

  return {
    /** The access token; logs in first when there is none, or when it is about to end. One login at a time. */
    token(): Promise<PlatformResult<string>> {
      if (running !== undefined) return running
      if (current !== undefined && now() < current.renewAt)
        return Promise.resolve({ ok: true, value: current.token })
      running = logIn().finally(() => {
        running = undefined
      })
      return running
    },
    /** The platform refused this token: the next one that asks logs in. A token that was replaced already is ignored. */
    refused(token: string): void {
      if (current?.token === token) current = undefined
    },
  }
}
