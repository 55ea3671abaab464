import { providerModules } from '../providers/list.ts'
import { isLoopback } from '../settings/loopback.ts'
import { missingSetting, missingSettings, type SettingFault } from '../settings/setting.ts'
import { isGuessable } from './guessable.ts'
import { type SettingName, type SettingValues, settingNames, settings } from './settings.ts'

/** Settings that were read so far; one that is missing, or whose text was wrong, is undefined. */
export type Partly = { readonly [K in keyof SettingValues]?: SettingValues[K] | undefined }

/** Whoever finds the URL in a proxy's log could guess a shorter Token offline. */
const SAFE_TOKEN_LENGTH = 16

/**
 * The faults of all settings taken together.
 * @param wrong names that already have a fault of their own: they were set, so nothing is said to be missing there.
 */
export function faultsTogether(s: Partly, wrong: ReadonlySet<string>): readonly SettingFault[] {
  const faults = [
    ...channelFaults(s),
    ...(s.EMAIL_TOKEN === undefined ? [] : mailFaults(s, wrong)),
    ...(s.SMS_TOKEN === undefined ? [] : smsFaults(s, wrong)),
    ...protectionFaults(s, wrong),
    ...listenerFaults(s),
    ...adminTokenFaults(s),
    ...dkimFaults(s),
    ...(s.DDQ_HOST === undefined ? [] : alertFaults(s)),
    ...(s.EVENTS_URL === undefined || s.EVENTS_SECRET !== undefined ? [] : [NO_SIGNING_SECRET]),
    ...exampleFaults(s),
  ]
  return faults.filter(fault => !wrong.has(fault.name))
}

function channelFaults(s: Partly): SettingFault[] {
  const faults: SettingFault[] = []
  if (s.EMAIL_TOKEN === undefined && s.SMS_TOKEN === undefined)
    faults.push(
      missingSetting(
        'EMAIL_TOKEN',
        'set it to switch e-mail on, or SMS_TOKEN to switch SMS on (`callback-courier token` makes one)',
      ),
    )
  if ((s.EMAIL_TOKEN ?? s.SMS_TOKEN) !== undefined && s.BRAND_NAME === undefined)
    faults.push(
      missingSetting('BRAND_NAME', 'set it to the name people know you by, or put a name into MAIL_FROM'),
    )
  if (s.DATABASE_URL?.kind === 'postgres' && s.STORE_SECRET === undefined)
    faults.push(
      missingSetting(
        'STORE_SECRET',
        'it is needed with postgres: a long random text, the same for every instance',
      ),
    )
  return faults
}

function mailFaults(s: Partly, wrong: ReadonlySet<string>): SettingFault[] {
  return [
    ...providerFaults('email', s, wrong),
    ...missingSettings(s, {
      MAIL_FROM: 'e-mail is on (EMAIL_TOKEN), so say who mails are from: Example <no-reply@example.com>',
    }),
  ]
}

function smsFaults(s: Partly, wrong: ReadonlySet<string>): SettingFault[] {
  const faults = [...providerFaults('sms', s, wrong), ...nameFaults(s), ...routeFaults(s, wrong)]
  if (s.DEFAULT_AREA_CODE === undefined && s.SMS_COUNTRIES === undefined)
    faults.push(
      missingSetting(
        'DEFAULT_AREA_CODE',
        "SMS is on (SMS_TOKEN): set it to your country's calling code (86), or say in SMS_COUNTRIES where SMS may go",
      ),
    )
  return faults
}

/** The faults of a channel's providers: of those with any setting, or else of the first in the list. */
function providerFaults(channel: 'email' | 'sms', s: Partly, wrong: ReadonlySet<string>): SettingFault[] {
  const begun = configuredProviders(channel, s, wrong)
  const first = providerModules.filter(module => module.channel === channel).slice(0, 1)
  return (begun.length > 0 ? begun : first).flatMap(module => module.findFaults(s))
}

/** The providers of a channel of which anything is set. */
function configuredProviders(channel: 'email' | 'sms', s: Partly, wrong: ReadonlySet<string>) {
  return providerModules.filter(
    module =>
      module.channel === channel &&
      Object.entries(module.settings).some(
        ([name, { default: usual }]) =>
          usual === undefined && (s[name as SettingName] !== undefined || wrong.has(name)),
      ),
  )
}

/** Carriers of the operator's own that are called as another one is. */
function nameFaults(s: Partly): SettingFault[] {
  const taken = new Set(providerModules.map(({ name }) => name))
  return providerModules.flatMap(module =>
    ('members' in module ? module.members(s) : [])
      .filter(({ name }) => name !== module.name && taken.has(name))
      .map(({ name }) => ({
        name: Object.keys(module.settings)[0] ?? module.name,
        problem: `calls a carrier ${name}, as another one is called: choose a name of its own`,
      })),
  )
}

function carrierNames(s: Partly): readonly string[] {
  return providerModules.filter(({ channel }) => channel === 'sms').flatMap(module => namesOf(module, s))
}

function namesOf(module: (typeof providerModules)[number], s: Partly): readonly string[] {
  return 'members' in module ? module.members(s).map(({ name }) => name) : [module.name]
}

/** Carriers that no route leads to, and routes that lead to no carrier. */
function routeFaults({ SMS_ROUTES: routes, ...s }: Partly, wrong: ReadonlySet<string>): SettingFault[] {
  const configured = configuredProviders('sms', s, wrong).flatMap(module => namesOf(module, s))
  if (routes === undefined) {
    if (configured.length < 2) return []
    const line = `SMS_ROUTES=*=${configured.join(',')}`
    return [
      missingSetting(
        'SMS_ROUTES',
        `there are several SMS carriers, so say which of them is asked first: ${line}`,
      ),
    ]
  }
  const known = carrierNames(s)
  const faults = [...new Set([...routes.values()].flat())]
    .filter(name => !configured.includes(name))
    .map(name =>
      known.includes(name)
        ? `leads to ${name}, of which nothing is set: set it, or take it out of the routes`
        : `leads to a carrier that there is not: choose from ${known.join(', ')}`,
    )
  return [...new Set(faults)].map(problem => ({ name: 'SMS_ROUTES', problem }))
}

function alertFaults(s: Partly): SettingFault[] {
  const needed = {
    DDQ_AUTH_URL: "the platform API's address",
    DDQ_APP_ID: "the application's identifier",
    DDQ_APP_SECRET: "the application's secret",
    ALERTS: 'who is to be told of what (or ALERTS_FILE)',
  } as const
  return (Object.keys(needed) as (keyof typeof needed)[])
    .filter(name => s[name] === undefined)
    .map(name => missingSetting(name, `device alerts are on (DDQ_HOST), so set ${needed[name]}`))
}

const NO_SIGNING_SECRET = missingSetting(
  'EVENTS_SECRET',
  'other machines are told what becomes of messages (EVENTS_URL), so set the key that is signed with: whsec_ and 32 random bytes in base64',
)

/** Networks that leave somebody out; 0.0.0.0/0 and ::/0 protect nothing. */
function narrow(networks: readonly string[] | undefined): boolean {
  return networks !== undefined && networks.length > 0 && !networks.some(isWholeInternet)
}

export function isWholeInternet(network: string): boolean {
  return /\/0+$/.test(network)
}

/**
 * The key in the URL, or the caller's network, tells the platform from others. A signature does not, when the
 * Token can be guessed from the URL's derived key: whoever has the Token signs as the platform does.
 */
function protectionFaults(s: Partly, wrong: ReadonlySet<string>): SettingFault[] {
  if (wrong.has('ALLOWED_SOURCES') || narrow(s.ALLOWED_SOURCES)) return []
  const faults: SettingFault[] = []
  for (const channel of ['EMAIL', 'SMS'] as const) {
    const ownKey = s[`${channel}_CALLBACK_KEY`] !== undefined || wrong.has(`${channel}_CALLBACK_KEY`)
    if (s[`${channel}_TOKEN`] === undefined || ownKey) continue
    for (const name of [`${channel}_TOKEN`, `${channel}_TOKEN_PREVIOUS`] as const) {
      const token = s[name]
      if (token === undefined) continue
      const short = token.length < SAFE_TOKEN_LENGTH
      if (!short && !isGuessable(token)) continue
      faults.push({
        name,
        problem: `${short ? `has fewer than ${SAFE_TOKEN_LENGTH} characters` : 'is one that guessers try'}, so that whoever sees the URL could guess it and send in your name: make a new one with \`callback-courier token\`, or set ${channel}_CALLBACK_KEY (22 or more random characters) or ALLOWED_SOURCES`,
      })
    }
  }
  return faults
}

function listenerFaults(s: Partly): SettingFault[] {
  const faults: SettingFault[] = []
  const remedy = 'HTTPS needs it; or set TLS=off when a proxy in front ends TLS'
  if (s.TLS === true) faults.push(...missingSettings(s, { TLS_CERT_FILE: remedy, TLS_KEY_FILE: remedy }))
  if (s.PORT !== undefined && s.PORT !== 0 && s.PORT === s.ADMIN_PORT)
    faults.push({ name: 'ADMIN_PORT', problem: 'is the same as PORT: choose another one' })
  return faults
}

/** The faults of the private listener's passwords: one is missing where it is needed, two are the same, or one is easy to guess. */
function adminTokenFaults(s: Partly): SettingFault[] {
  const { ADMIN_HOST: host, ADMIN_TOKEN: admin, ADMIN_TOKENS: operators } = s
  const { METRICS_TOKEN: metrics, STATUS_TOKEN: status } = s
  const faults: SettingFault[] = []
  const why =
    host !== undefined && !isLoopback(host)
      ? 'console and metrics can be reached from other machines (ADMIN_HOST): set a password of 16 or more characters (or ADMIN_TOKENS, one for each operator), or ADMIN_HOST=127.0.0.1'
      : metrics !== undefined
        ? 'the metrics have a password (METRICS_TOKEN), so the console needs one, too'
        : status !== undefined
          ? 'the status API has a password (STATUS_TOKEN), so the console needs one, too'
          : null
  if (admin === undefined && operators === undefined && why !== null)
    faults.push(missingSetting('ADMIN_TOKEN', why))
  const all = [
    ['ADMIN_TOKEN', [admin ?? []].flat()],
    ['METRICS_TOKEN', [metrics ?? []].flat()],
    ['STATUS_TOKEN', [status ?? []].flat()],
    ['ADMIN_TOKENS', [...(operators?.values() ?? [])]],
  ] as const
  const seen = new Set<string>()
  for (const [name, tokens] of all) {
    // The example is guessable, too, and has a fault of its own.
    if (tokens.some(token => isGuessable(token) && !isExample(name, token)))
      faults.push({
        name,
        problem:
          'repeats a few characters, or is one that guessers try: make one with `callback-courier token`, which also serves here',
      })
    if (tokens.some(token => seen.size === seen.add(token).size))
      faults.push({ name, problem: 'repeats another password of the private listener: each needs its own' })
  }
  return faults
}

function dkimFaults(s: Partly): SettingFault[] {
  const names = ['DKIM_DOMAIN', 'DKIM_SELECTOR', 'DKIM_KEY_FILE'] as const
  const absent = names.filter(name => s[name] === undefined)
  if (absent.length === names.length) return []
  return absent.map(name =>
    missingSetting(name, 'DKIM needs DKIM_DOMAIN, DKIM_SELECTOR and DKIM_KEY_FILE, or none of them'),
  )
}

/** Says whether a value is the example of its setting, or the password in it. */
function isExample(name: SettingName, value: unknown): boolean {
  const { example } = settings[name]
  return value === example || (name === 'ADMIN_TOKENS' && example === `ann:${String(value)}`)
}

/** Finds examples among the values: they stand in a public file, and a secret that was pasted from there is known to everybody. */
function exampleFaults(s: Partly): SettingFault[] {
  const pasted = settingNames.filter(name => {
    if (!('secret' in settings[name])) return false
    const value: unknown = s[name]
    return (value instanceof Map ? [...value.values()] : [value]).some(each => isExample(name, each))
  })
  return pasted.map(name => ({
    name,
    problem: 'is the example of .env.example, which everybody knows: choose your own',
  }))
}
