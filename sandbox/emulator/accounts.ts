import type { Int } from '../../src/platform/exact-json.ts'

/** Who may log in to the emulated platform. */
export interface Accounts {
  readonly corp: {
    readonly corpId: string
    readonly memberId: string
    readonly account: string
    readonly password: string
    readonly roleType: number
  }
  readonly user: {
    readonly userId: Int
    readonly phone: string
    readonly phoneZone: string
    readonly email: string
    readonly password: string
  }
  readonly app: { readonly appId: string; readonly appSecret: string }
}

export type Holder = 'corp' | 'user' | 'app'

/** Credentials that the emulated platform has issued. */
export interface Tokens {
  issue(holder: Holder): {
    readonly access_token: string
    readonly refresh_token: string
    readonly expire_in: number
  }
  /** Who a token belongs to; null when it is unknown, ended or revoked. */
  holderOf(token: string): Holder | null
  /** From now on none of those issued is accepted. */
  revoke(): void
}

export interface TokenOptions {
  /** Life of a token, ms. */
  readonly lifeMs: number
  /** The unit of `expire_in`, which the contract does not name. */
  readonly unit: 'seconds' | 'milliseconds'
  readonly now: () => number
  readonly random: (bytes: number) => string
}

const MOST_TOKENS = 1000

export function createTokens({ lifeMs, unit, now, random }: TokenOptions): Tokens {
  const issued = new Map<string, { readonly holder: Holder; readonly until: number }>()
  return {
    issue(holder) {
      for (const [token, { until }] of issued) if (until <= now()) issued.delete(token)
      const [oldest] = issued.keys()
      if (issued.size >= MOST_TOKENS && oldest !== undefined) issued.delete(oldest)
      const access_token = `${holder}-${random(18)}`
      issued.set(access_token, { holder, until: now() + lifeMs })
      const expire_in = unit === 'seconds' ? Math.round(lifeMs / 1000) : lifeMs
      return { access_token, refresh_token: random(18), expire_in }
    },
    holderOf(token) {
      const found = issued.get(token)
      return found === undefined || found.until <= now() ? null : found.holder
    },
    revoke: () => issued.clear(),
  }
}
