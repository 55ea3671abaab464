import type { Int } from '../../src/runtime/exact-json.ts'

/** The accounts of the emulated platform. */
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

/** The access tokens of the emulated platform. */
export interface Tokens {
  issue(holder: Holder): {
    readonly access_token: string
    readonly refresh_token: string
    readonly expire_in: number
  }
  /** The holder of a token; null when it is unknown, expired or revoked. */
  holderOf(token: string): Holder | null
  /** Makes all tokens issued so far invalid. */
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
