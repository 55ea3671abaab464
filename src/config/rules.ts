import { say, tell, type Words } from '../language/sentence.ts'
import { providerModules } from '../providers/list.ts'
import { roleOf } from '../settings/readers.ts'
import { isRouted } from '../settings/senders.ts'
import { missingSetting, missingSettings, type SettingFault } from '../settings/setting.ts'
import { isLoopback } from '../settings/urls.ts'
import { allSettings, type SettingName, type SettingValues, settingNames, settingOf } from './settings.ts'

/** Settings that were read so far; one that is missing, or whose text was wrong, is undefined. */
export type Partly = { readonly [K in keyof SettingValues]?: SettingValues[K] | undefined }

/** Whoever finds the URL in a proxy's log could guess a shorter Token offline. */
const SAFE_TOKEN_LENGTH = 16
/** The fewest different characters of a secret: sixteen random letters have thirteen. */
const VARIED = 8
/** What people type in a row; after nine some begin again. */
const ROWS = ['01234567890', 'abcdefghijklmnopqrstuvwxyz', 'qwertyuiop', 'asdfghjkl', 'zxcvbnm']

/**
 * Says whether a secret of any length is plainly not made at random. It knows no words: an estimator (zxcvbn) does, and would cost
 * each start 250 ms and 45 MB.
 */
function isWeak(secret: string): boolean {
  const text = secret.toLowerCase()
  const neighbours = Array.from({ length: text.length - 1 }, (_, at) => text.slice(at, at + 2)).filter(
    ([one = '', other = '']) =>
      one === other || ROWS.some(row => row.includes(one + other) || row.includes(other + one)),
  )
  const isRun = neighbours.length > (text.length - 1) * 0.75
  const periods = Array.from({ length: Math.ceil(text.length / 2) }, (_, n) => n + 1)
  return new Set(text).size < VARIED || isRun || periods.some(each => text.startsWith(text.slice(each)))
}

/**
 * The faults of all settings taken together.
 * @param wrong names that already have a fault of their own: they were set, so nothing is said to be missing there.
 */
export function faultsTogether(s: Partly, wrong: ReadonlySet<string>): readonly SettingFault[] {
  const faults = [
    ...(s.EMAIL_TOKEN === undefined ? [] : mailFaults(s, wrong)),
    ...(s.SMS_TOKEN === undefined ? [] : smsFaults(s, wrong)),
    ...missingSettings(s, neededSettings(s)),
    ...protectionFaults(s, wrong),
    ...listenerFaults(s),
    ...adminTokenFaults(s, wrong),
    ...secretFaults(s),
    ...exampleFaults(s),
  ]
  return faults.filter(fault => !wrong.has(String(fault.name)))
}

/** Lists the settings that others need, and what to do; false: they do not. */
function neededSettings(s: Partly): Readonly<Partial<Record<SettingName, Words | false>>> {
  const isMail = s.EMAIL_TOKEN !== undefined
  const isSms = s.SMS_TOKEN !== undefined
  const tls = s.TLS === true && 'HTTPS needs it; or set TLS=off when a proxy in front ends TLS'
  const forAlerts = (needed: Words) =>
    s.DDQ_URL !== undefined &&
    say('device alerts are on (DDQ_URL), so set {needed}', { needed: tell(needed) })
  return {
    EMAIL_TOKEN:
      !isSms &&
      'set it to switch e-mail on, or SMS_TOKEN to switch SMS on (`callback-courier token` makes one)',
    BRAND_NAME: (isMail || isSms) && 'set it to the name people know you by, or put a name into MAIL_FROM',
    STORE_SECRET:
      s.DATABASE_URL?.kind === 'postgres' &&
      'it is needed with postgres: a long random text, the same for every instance',
    MAIL_FROM:
      isMail && 'e-mail is on (EMAIL_TOKEN), so say who mails are from: Example <no-reply@example.com>',
    DEFAULT_AREA_CODE:
      isSms &&
      s.SMS_COUNTRIES === undefined &&
      "SMS is on (SMS_TOKEN): set it to your country's calling code (86), or say in SMS_COUNTRIES where SMS may go",
    TLS_CERT_FILE: tls,
    TLS_KEY_FILE: tls,
    DKIM_NAME: s.DKIM_KEY_FILE !== undefined && 'DKIM_KEY_FILE needs it',
    DKIM_KEY_FILE: s.DKIM_NAME !== undefined && 'DKIM_NAME needs it',
    PUBLIC_URL: s.PROBE_TO !== undefined && 'PROBE_TO needs it: the host that the certificate must be for',
    DDQ_AUTH_URL: forAlerts("the platform API's address"),
    DDQ_APP_ID: forAlerts("the application's identifier"),
    DDQ_APP_SECRET: forAlerts("the application's secret"),
    ALERTS: forAlerts('who is to be told of what (or ALERTS_FILE)'),
    EVENTS_SECRET:
      s.EVENTS_URL !== undefined &&
      'other machines are told what becomes of messages (EVENTS_URL), so set the key that is signed with: whsec_ and 32 random bytes in base64',
  }
}

function* mailFaults(s: Partly, wrong: ReadonlySet<string>): Generator<SettingFault> {
  yield* providerFaults('email', s, wrong)
  if (s.BOUNCE_IMAP_URL?.pass === '' && s.SMTP_OAUTH2_TOKEN_URL === undefined)
    yield {
      name: 'BOUNCE_IMAP_URL',
      problem: 'has a user and no password',
      remedy: 'write user:password@, or set SMTP_OAUTH2_TOKEN_URL',
    }
}

function smsFaults(s: Partly, wrong: ReadonlySet<string>): SettingFault[] {
  return [...providerFaults('sms', s, wrong), ...nameFaults(s), ...routeFaults(s, wrong)]
}

/** The faults of a channel's providers, of those with any setting. Without one, mail has its only way, and SMS any of several. */
function providerFaults(channel: 'email' | 'sms', s: Partly, wrong: ReadonlySet<string>): SettingFault[] {
  const begun = configuredProviders(channel, s, wrong)
  const all = providerModules.filter(module => module.channel === channel)
  if (begun.length > 0 || all.length === 1)
    return (begun.length > 0 ? begun : all).flatMap(module => [...module.findFaults(s)])
  const firsts = [...new Set(all.map(({ settings }) => Object.keys(settings)[0]))].join(', ')
  const remedy = say(
    'name one, and what it needs, beginning with one of {firsts}; without SMS leave SMS_TOKEN empty',
    { firsts },
  )
  return [{ name: 'SMS_TOKEN', problem: 'is set, and no SMS carrier is', remedy }]
}

/** The providers of a channel of which anything is set. */
function configuredProviders(channel: 'email' | 'sms', s: Partly, wrong: ReadonlySet<string>) {
  return providerModules.filter(
    module =>
      module.channel === channel &&
      (module.isByRoute !== true || isRouted(s.SMS_ROUTES, module.name)) &&
      Object.entries(module.settings).some(
        ([name, { default: usual }]) =>
          usual === undefined && (s[name as SettingName] !== undefined || wrong.has(name)),
      ),
  )
}

/** Carriers of the operator's own that are called as another one is. */
function nameFaults(s: Partly): SettingFault[] {
  // Mails that came back are taken at /receipt/bounce.
  const taken = new Set<string>(['bounce', ...providerModules.map(({ name }) => name)])
  return providerModules.flatMap(module =>
    ('members' in module ? module.members(s) : [])
      .filter(({ name }) => name !== module.name && taken.has(name))
      .map(({ name }) => ({
        name: Object.keys(module.settings)[0] ?? module.name,
        problem: say('calls a carrier {name}, as another one is called', { name }),
        remedy: 'choose a name of its own',
      })),
  )
}

function namesOf(module: (typeof providerModules)[number], s: Partly): readonly string[] {
  return 'members' in module ? module.members(s).map(({ name }) => name) : [module.name]
}

/** Carriers that no route leads to, and routes that lead to no carrier. */
function routeFaults(s: Partly, wrong: ReadonlySet<string>): SettingFault[] {
  const { SMS_ROUTES: routes } = s
  const configured = configuredProviders('sms', s, wrong).flatMap(module => namesOf(module, s))
  if (routes === undefined)
    return missingSettings(s, {
      SMS_ROUTES:
        configured.length > 1 &&
        say('there are several SMS carriers, so say which of them is asked first: SMS_ROUTES=*={carriers}', {
          carriers: configured.join(','),
        }),
    })
  const known = providerModules
    .filter(({ channel }) => channel === 'sms')
    .flatMap(module => namesOf(module, s))
  const name = 'SMS_ROUTES'
  const absent = [...new Set([...routes.values()].flat())].filter(each => !configured.includes(each))
  const unset = absent.filter(each => known.includes(each))
  const faults: SettingFault[] = unset.map(carrier => ({
    name,
    problem: say('leads to {carrier}, of which nothing is set', { carrier }),
    remedy: 'set it, or take it out of the routes',
  }))
  if (unset.length === absent.length) return faults
  const remedy = say('choose from {names}', { names: known.join(', ') })
  return [...faults, { name, problem: 'leads to a carrier that there is not', remedy }]
}

/** Such a network leaves nobody out, and protects nothing. */
function isWholeInternet(network: string): boolean {
  return /\/0+$/.test(network)
}

/**
 * The key in the URL, or the caller's network, tells the platform from others. A signature does not, when the
 * Token can be guessed from the URL's derived key: whoever has the Token signs as the platform does.
 */
function* protectionFaults(s: Partly, wrong: ReadonlySet<string>): Generator<SettingFault> {
  for (const [name, token] of listLoneTokens(s, wrong)) {
    const short = token.length < SAFE_TOKEN_LENGTH
    if (short || isWeak(token))
      yield {
        name,
        problem: say('{weakness}, so that whoever sees the URL could guess it and send in your name', {
          weakness: short
            ? say('has fewer than {least} characters', { least: SAFE_TOKEN_LENGTH })
            : say(WEAK),
        }),
        remedy:
          'make a new one with `callback-courier token`, or set CALLBACK_KEYS (22 or more random characters each) or ALLOWED_SOURCES',
      }
  }
}

/** Lists the Tokens that the key in their URL follows from, while nothing else tells the platform from others. */
function listLoneTokens(s: Partly, wrong: ReadonlySet<string>): readonly NamedSecret[] {
  const sources = s.ALLOWED_SOURCES ?? []
  const isNarrow = sources.length > 0 && !sources.some(isWholeInternet)
  if (isNarrow || wrong.has('ALLOWED_SOURCES')) return []
  return (['EMAIL', 'SMS'] as const).flatMap(channel => {
    const isKept = s.CALLBACK_KEYS?.has(channel === 'EMAIL' ? 'email' : 'sms') === true
    if (s[`${channel}_TOKEN`] === undefined || isKept || wrong.has('CALLBACK_KEYS')) return []
    return secretsOf(s, [`${channel}_TOKEN`, `${channel}_TOKEN_PREVIOUS`])
  })
}

type NamedSecret = readonly [name: SettingName, secret: string]

/** Lists the secrets that these settings hold, each with its setting. */
function secretsOf(s: Partly, names: readonly SettingName[]): readonly NamedSecret[] {
  return names.flatMap(name => {
    const value: unknown = s[name]
    const secrets = value instanceof Map ? [...value.values()] : [value ?? []].flat()
    return secrets.map(secret => [name, String(secret)] as const)
  })
}

function* listenerFaults(s: Partly): Generator<SettingFault> {
  if (s.PORT !== undefined && s.PORT !== 0 && s.PORT === s.ADMIN_PORT)
    yield { name: 'ADMIN_PORT', problem: 'is the same as PORT', remedy: 'choose another one' }
}

/** The faults of the private listener's passwords: one is missing where it is needed, two are the same, or one is easy to guess. */
function* adminTokenFaults(s: Partly, wrong: ReadonlySet<string>): Generator<SettingFault> {
  const { ADMIN_HOST: host, ADMIN_TOKENS: tokens = new Map<string, string>() } = s
  const roles = new Set([...tokens.keys()].map(roleOf))
  const name = 'ADMIN_TOKENS'
  if (!roles.has('operator') && !wrong.has(name)) {
    if (host !== undefined && !isLoopback(host))
      yield missingSetting(
        name,
        'console and metrics can be reached from other machines (ADMIN_HOST): set a password of 16 or more characters, or ADMIN_HOST=127.0.0.1',
      )
    else if (roles.size > 0)
      yield { name, problem: 'has passwords of programs alone', remedy: 'add one for the console' }
  }
  const seen = new Set<string>()
  for (const [, token] of secretsOf(s, [name])) {
    if (seen.size === seen.add(token).size)
      yield {
        name,
        problem: 'repeats another password of the private listener',
        remedy: 'each needs its own',
      }
  }
}

const WEAK = 'has fewer than 8 different characters, repeats itself, or is a run such as 1234567890123456'

/** Finds examples among the values: they stand in a public file, and a secret that was pasted from there is known to everybody. */
function exampleFaults(s: Partly): SettingFault[] {
  const secrets = settingNames.filter(name => 'secret' in allSettings[name])
  // A key of the callbacks stands behind its place.
  const pasted = secretsOf(s, secrets).filter(([name, secret]) =>
    `:${settingOf(name)?.example}`.endsWith(`:${secret}`),
  )
  return [...new Set(pasted.map(([name]) => name))].map(name => ({
    name,
    problem: 'is the example of the docs, which everybody knows',
    remedy: 'choose your own',
  }))
}

/** What to do with a secret of ours that is easy to guess; Tokens have a fault of their own. */
const MAKE_ONE = 'make one with `callback-courier token`, which also serves here'
const OTHER_SECRET = {
  CALLBACK_KEYS: MAKE_ONE,
  ADMIN_TOKENS: MAKE_ONE,
  // Messages that wait were stored with it.
  STORE_SECRET:
    'make one with `callback-courier token`, and keep this one in STORE_SECRET_PREVIOUS until nothing needs it any more',
} as const

function secretFaults(s: Partly): SettingFault[] {
  return Object.entries(OTHER_SECRET)
    .filter(([name]) => secretsOf(s, [name as SettingName]).some(([, secret]) => isWeak(secret)))
    .map(([name, remedy]) => ({ name, problem: WEAK, remedy }))
}

/** Settings that work but should not stay as they are. */
export function listAdvice(s: SettingValues): readonly SettingFault[] {
  return [...tokenAdvice(s), ...serviceAdvice(s), ...smsAdvice(s)]
}

function* tokenAdvice(s: SettingValues): Generator<SettingFault> {
  for (const name of ['EMAIL_TOKEN', 'SMS_TOKEN', 'EMAIL_TOKEN_PREVIOUS', 'SMS_TOKEN_PREVIOUS'] as const) {
    const token = s[name]
    if (token === undefined) continue
    if (/\d$/.test(token))
      yield {
        name,
        problem: 'ends in a digit',
        remedy:
          'Token and timestamp are signed without anything between them, so choose one that ends in a letter (`callback-courier token`)',
      }
    if (/[\s#"'`$\\]/.test(token))
      yield {
        name,
        problem:
          'has a character that dotenv files and container env files read differently (space, #, quote, $, \\)',
        remedy: 'compare its fingerprint (`callback-courier check`), or choose another Token',
      }
    if (token.length < SAFE_TOKEN_LENGTH)
      yield {
        name,
        problem: 'has fewer than 16 characters and can be guessed',
        remedy: '`callback-courier token` makes a good one',
      }
  }
  if (s.EMAIL_TOKEN !== undefined && s.EMAIL_TOKEN === s.SMS_TOKEN)
    yield { name: 'EMAIL_TOKEN', problem: 'and SMS_TOKEN are the same', remedy: 'give each channel its own' }
}

function* serviceAdvice(s: SettingValues): Generator<SettingFault> {
  if (s.ONLY_TO !== undefined)
    yield {
      name: 'ONLY_TO',
      problem: say(
        'is set, with {n} entries: whatever is for anybody else is answered 0 and held, never sent',
        { n: s.ONLY_TO.length },
      ),
      remedy: 'remove it when the trial is over',
    }
  if (s.ADMIN_TOKENS === undefined)
    yield {
      name: 'ADMIN_TOKENS',
      problem:
        'is not set: every user of this machine can read console and metrics, and send, retry and cancel messages',
      remedy: '`callback-courier token` makes one; without it URLs and backups are not given out',
    }
  for (const [name, remedy] of [
    ['ALLOWED_SOURCES', 'it protects nothing'],
    ['TRUSTED_PROXIES', 'any caller can then claim any address'],
  ] as const)
    if (s[name].some(isWholeInternet)) yield { name, problem: 'contains a network of everybody (/0)', remedy }
  if (!s.TLS && s.ALLOWED_SOURCES.length > 0 && s.TRUSTED_PROXIES.length === 0)
    yield {
      name: 'TLS',
      problem: 'is off, which means a proxy in front, but TRUSTED_PROXIES is empty',
      remedy: "ALLOWED_SOURCES will be compared with the proxy's address",
    }
  if (s.SMTP_LOGIN_WITHOUT_TLS)
    yield {
      name: 'SMTP_LOGIN_WITHOUT_TLS',
      problem: "lets the mail server's password cross the network in the clear",
      remedy: 'use a server with TLS, and leave it out',
    }
  if (s.ALERTS !== undefined && s.DDQ_URL === undefined)
    yield { name: 'ALERTS', problem: 'is set, but nobody is told of anything', remedy: 'set DDQ_URL as well' }
}

function* smsAdvice(s: SettingValues): Generator<SettingFault> {
  const { SMS_TOKEN: token, SMS_ROUTES: routes, SMS_COUNTRIES: countries = [] } = s
  const name = 'SMS_COUNTRIES'
  if (token === undefined) return
  if (countries === '*')
    yield { name, problem: 'lets SMS go to every country, also to those where one SMS costs much' }
  else if (routes !== undefined && !routes.has('*')) {
    const without = countries.filter(country => !routes.has(country)).join(', ')
    if (without !== '')
      yield {
        name,
        problem: say('has {countries}, which no route leads to', { countries: without }),
        remedy: 'add it to SMS_ROUTES',
      }
  }
}
