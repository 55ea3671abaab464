import { build } from '../runtime/build.ts'
import type { SettingAdvice, SettingFault } from '../settings/setting.ts'
import names from './earlier.json' with { type: 'json' }
import { type SettingName, settingOf } from './settings.ts'

/** A setting of an earlier version that is still set. */
export interface RemovedSetting extends Required<SettingFault> {
  /** It says whether the setting held messages back, so that more goes out without it. */
  readonly isBrake: boolean
}

const BRAKE = 'is not read any more and holds nothing back'

/** What the variables that OpenTelemetry's own programs read, too, are answered. */
const TRACES = {
  problem: 'is not read any more, since this service sends no traces',
  remedy: 'take it out; the timeline of a message (console, `callback-courier find`) says the same',
  isBrake: false,
}

/** What each of them is answered. A brake counts only when it was on. */
const REMOVED: Readonly<Record<string, Omit<RemovedSetting, 'name'>>> = {
  QUOTA_SMS_COST_PER_DAY: {
    problem: BRAKE,
    remedy: 'set sms-day in QUOTAS to the number of SMS that you are willing to pay for, and take it out',
    isBrake: true,
  },
  QUOTA_SMS_CARRIER_PER_DAY: {
    problem: BRAKE,
    remedy: 'set sms-day or sms-country-day in QUOTAS, and take it out',
    isBrake: true,
  },
  SMS_COSTS: {
    problem: 'is not read any more',
    remedy: 'take it out; sms-day in QUOTAS limits SMS, your carrier knows the prices',
    isBrake: false,
  },
  TWILIO_CONCURRENCY: {
    problem: 'is not read any more',
    remedy: 'take it out; requests to Twilio at the same time are as many as pay, 200 at most',
    isBrake: false,
  },
  ...Object.fromEntries(names.traces.map(name => [name, TRACES])),
}

/** Lists the settings that are set and that this version does not have any more. @param given texts by name; none is empty */
export function findRemovedSettings(given: Readonly<Record<string, string>>): readonly RemovedSetting[] {
  return Object.entries(REMOVED).flatMap(([name, removed]) => {
    const text = given[name]
    return text === undefined ? [] : [{ name, ...removed, isBrake: removed.isBrake && Number(text) !== 0 }]
  })
}

/** Settings whose values stand in another one now. */
interface Replacement {
  readonly old: readonly string[]
  readonly by: SettingName
  /** Makes what to put into the new one from the texts of the old ones; null: they say nothing. */
  readonly write: (...texts: readonly (string | undefined)[]) => string | null
  /** What to show of it, where it is a secret. */
  readonly form?: string
}

/** The version that reads them no more. */
const GONE_WITH = '1.3'

const REPLACED: readonly Replacement[] = [
  // An old setting, the one that its text is an entry of now, and what stands before it there.
  ...Object.entries(names.entries).map(([old, [by, before]]) => ({
    old: [old],
    by: by as SettingName,
    write: (text?: string) => `${before}${text?.trim()}`,
    form: `${before}…`,
  })),
  ...(['email', 'sms'] as const).map(channel => ({
    old: [`${channel.toUpperCase()}_WORDS`],
    by: 'PLATFORM_WORDS' as const,
    write: (words?: string) => (words === 'platform' ? channel : null),
  })),
  {
    old: ['TWILIO_API_KEY_SID', 'TWILIO_API_KEY_SECRET'],
    by: 'TWILIO_API_KEY',
    write: (sid = '', secret = '') => `${sid.trim()}:${secret}`,
    form: 'SID:SECRET',
  },
  {
    old: ['DKIM_SELECTOR', 'DKIM_DOMAIN'],
    by: 'DKIM_NAME',
    write: (selector = '', domain = '') => `${selector.trim()}._domainkey.${domain.trim()}`,
  },
  {
    old: [
      'DDQ_HOST',
      'DDQ_PORT',
      'DDQ_TLS',
      'DDQ_AUTH_PATH',
      'DDQ_SUBSCRIBE_PATH',
      'DDQ_HEARTBEAT',
      'DDQ_ANY_PRODUCT',
    ],
    by: 'DDQ_URL',
    write(host, port = '80', tls = 'off', ...values) {
      if (host === undefined) return null
      const query = ['auth', 'subscribe', 'heartbeat', 'any-product'].flatMap((name, at) => {
        const value = values[at]?.trim().replace(/[%&#+]/g, encodeURIComponent)
        return value === undefined ? [] : [`${name}=${value}`]
      })
      const name = host.includes(':') ? `[${host}]` : host
      const origin = `${/^(on|true|yes|1)$/i.test(tls.trim()) ? 'https' : 'http'}://${name}:${port.trim()}`
      return [origin, ...(query.length === 0 ? [] : [query.join('&')])].join('?')
    },
  },
]

/** New settings that hold several values, to which old ones are added. */
const LISTS: ReadonlySet<SettingName> = new Set(['ADMIN_TOKENS', 'CALLBACK_KEYS', 'QUOTAS', 'PLATFORM_WORDS'])

/**
 * Reads settings that have another form now. From 1.3 on they are not read, and stop the start, so that none is ignored.
 * @param read gives a setting's text, also a secret's that stands in a file.
 * @returns what stands in them, under the names of this version; `from`: the old names that it came from, by the new one
 */
export function readReplacedSettings(
  read: (name: string, isSecret: boolean) => string | undefined,
  given: Readonly<Record<string, string>>,
  version = build.version,
) {
  const texts: Record<string, string> = {}
  const from: Record<string, string> = {}
  const warnings: SettingAdvice[] = []
  const faults: SettingFault[] = []
  for (const by of new Set(REPLACED.map(each => each.by))) {
    const isSecret = settingOf(by)?.secret === true
    const set = REPLACED.filter(each => each.by === by).flatMap(({ old, write, form }) => {
      const olds = old.map(name => read(name, isSecret))
      const names = old.filter((_name, at) => olds[at] !== undefined)
      const text = names.length === 0 ? null : write(...olds)
      return names.length === 0 ? [] : [{ names, text, shown: text !== null && isSecret ? form : text }]
    })
    if (set.length === 0) continue
    const name = set.flatMap(({ names }) => names).join(', ')
    const parts = set.flatMap(({ text }) => text ?? [])
    const shown = set.flatMap(({ shown }) => shown ?? []).join(' ')
    const remedy = shown === '' ? 'take it out' : `put \`${shown}\` into ${by} instead`
    if (isBefore(version, GONE_WITH)) {
      from[by] = name
      warnings.push({ name: by, sentence: `${name} will not be read from ${GONE_WITH} on`, remedy })
      const all = new Set([...parts, given[by] ?? []].flat())
      if (all.size > 1 && !LISTS.has(by))
        faults.push({ name: by, problem: `and ${name} are both set`, remedy: 'remove one of them' })
      else if (all.size > 0) texts[by] = [...all].join(' ')
    } else faults.push({ name, problem: 'is not read any more', remedy })
  }
  return { texts, from, warnings, faults }
}

function isBefore(version: string, other: string): boolean {
  return version.localeCompare(other, 'en', { numeric: true }) < 0
}

/** The setting that has another one's place now. */
export function replacementOf(name: string): SettingName | undefined {
  return REPLACED.find(({ old }) => old.includes(name.replace(/_FILE$/, '')))?.by
}

/** Says whether a name was one of a setting once. */
export function wasSetting(name: string): boolean {
  return Object.hasOwn(REMOVED, name) || replacementOf(name) !== undefined
}
