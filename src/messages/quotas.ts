import type { Channel } from './message.ts'

const MINUTE = 60_000
const TEN_MINUTES = 10 * MINUTE
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A limit on how many messages go out in a while. */
interface Quota {
  /** Absent: both. */
  readonly channel?: Channel
  /** What has a counter of its own (src/callback/quotas.ts says which that is). */
  readonly per:
    | 'recipient'
    | 'alarm-recipient'
    | 'signup-domain'
    | 'calling-code'
    | 'prefix'
    | 'country'
    | 'channel'
  readonly windowMs: number
  /** The limit unless QUOTAS names another one; 0: none. */
  readonly usual: number
  /** Half of it is a warning, which comes while there is time to act. */
  readonly warns?: true
  /** It counts addresses to which nothing was sent yet, and numbers to which nothing was delivered on an earlier day. */
  readonly newcomersOnly?: true
}

/** All quotas, by the names in the setting, answers, metrics, log and console. */
export const QUOTAS = {
  'recipient-10m': { per: 'recipient', windowMs: TEN_MINUTES, usual: 5 },
  'recipient-day': { per: 'recipient', windowMs: DAY, usual: 20 },
  'alarm-recipient-hour': { per: 'alarm-recipient', windowMs: HOUR, usual: 100, warns: true },
  'signup-domain-hour': {
    channel: 'email',
    per: 'signup-domain',
    windowMs: HOUR,
    usual: 200,
    warns: true,
    newcomersOnly: true,
  },
  'sms-newcomers-hour': {
    channel: 'sms',
    per: 'calling-code',
    windowMs: HOUR,
    usual: 0,
    warns: true,
    newcomersOnly: true,
  },
  'sms-prefix-10m': { channel: 'sms', per: 'prefix', windowMs: TEN_MINUTES, usual: 50 },
  'sms-country-day': { channel: 'sms', per: 'country', windowMs: DAY, usual: 0 },
  'sms-minute': { channel: 'sms', per: 'channel', windowMs: MINUTE, usual: 600, warns: true },
  'sms-day': { channel: 'sms', per: 'channel', windowMs: DAY, usual: 20_000, warns: true },
  'email-minute': { channel: 'email', per: 'channel', windowMs: MINUTE, usual: 6000, warns: true },
  'email-day': { channel: 'email', per: 'channel', windowMs: DAY, usual: 0, warns: true },
} as const satisfies Readonly<Record<string, Quota>>

export type QuotaName = keyof typeof QUOTAS

/** Limits by name; 0: none. */
export type QuotaLimits = Readonly<Record<QuotaName, number>>

/** The quotas in the order in which a message is counted. */
export const QUOTA_LIST: readonly (Quota & { readonly name: QuotaName })[] = Object.entries(QUOTAS).map(
  ([name, quota]) => ({ name: name as QuotaName, ...quota }),
)

/** The names of those that count messages of a channel. @param per only those that have a counter for each of these */
export function quotasOf(channel: Channel, per?: Quota['per']): readonly QuotaName[] {
  return QUOTA_LIST.filter(
    each => (each.channel ?? channel) === channel && (per ?? each.per) === each.per,
  ).map(({ name }) => name)
}
