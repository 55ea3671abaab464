import { parseEnv } from 'node:util'
import { say, tell, type Words } from '../language/sentence.ts'
import { findMisencoded, judgeUnreadable } from '../runtime/fault.ts'
import type { SettingFault } from '../settings/setting.ts'
import { listeners } from './settings/callers.ts'
import { allSettings, type SettingName, settingNames, settingOf } from './settings.ts'

/** The places that settings come from. */
export interface SettingSources {
  /** The process's environment. It wins over the dotenv file. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** A dotenv file; one that does not exist is none. */
  readonly dotenvPath?: string
  /** Reads a text file; throws as node:fs does. */
  readonly readFile: (path: string) => string
}

/** Names that are meant for somebody else: compose, Caddy, Node, OpenSSL. */
const NOT_OURS =
  /^((COMPOSE|DOCKER|NODE|ACME|CADDY|POSTGRES|SSL_CERT)_|(TZ|LANG|LC_ALL|LC_MESSAGES|PATH|HTTP_PROXY|PUBLIC_HOST|MALLOC_ARENA_MAX)$)/

/**
 * Merges environment, dotenv file and secret files into one text a setting. Empty values are absent ones.
 * @returns the texts, and what came up on the way; `strayLines`: those of the dotenv file that set nothing; `asGiven` names a fault of
 *   a text by the setting that the operator wrote, which may be `NAME_FILE`
 */
export function mergeSources(sources: SettingSources) {
  const faults: SettingFault[] = []
  const { dotenv, ambiguous, strayLines } = readDotenv(sources, faults)
  const all: Record<string, string> = {}
  for (const [name, value] of [...Object.entries(dotenv), ...Object.entries(sources.env)]) {
    if (value !== undefined && value.trim() !== '') all[name] = value
  }
  const read = (name: string, isSecret: boolean) => valueOf(name, isSecret, all, sources, faults)
  const given: Record<string, string> = {}
  for (const name of settingNames) {
    const value = read(name, 'secret' in allSettings[name])
    if (value !== undefined) given[name] = value
  }
  faults.push(...findReplacedSettings(all))
  for (const name of settingNames) {
    const fallback = settingOf(name)?.defaultFrom?.(given)
    if (given[name] === undefined && fallback !== undefined) given[name] = fallback
  }
  const asGiven = (fault: SettingFault): SettingFault => {
    const { [`${String(fault.name)}_FILE`]: path, [String(fault.name)]: text } = all
    return path === undefined || text !== undefined ? fault : { ...fault, name: `${String(fault.name)}_FILE` }
  }
  const warnings = [...ambiguous, ...findUnknownSettings(all, dotenv)]
  return { given, faults, strayLines, warnings, asGiven }
}

/** Names that 1.1.0 still read, by the setting that has their values now. */
const REPLACED: readonly (readonly [SettingName, RegExp])[] = [
  ['ADMIN_TOKENS', /^(ADMIN|METRICS|STATUS)_TOKEN$/],
  ['CALLBACK_KEYS', /^(EMAIL|SMS)_CALLBACK_KEY(_PREVIOUS)?$/],
  ['QUOTAS', /^QUOTA_(RECIPIENT|ALARM_RECIPIENT|SMS|EMAIL)_/],
  ['PLATFORM_WORDS', /^(EMAIL|SMS)_WORDS$/],
  ['TWILIO_API_KEY', /^TWILIO_API_KEY_(SID|SECRET)$/],
  ['TWILIO_FROM', /^TWILIO_MESSAGING_SERVICE_SID$/],
  ['DKIM_NAME', /^DKIM_(SELECTOR|DOMAIN)$/],
  ['DDQ_URL', /^DDQ_(HOST|PORT|TLS|AUTH_PATH|SUBSCRIBE_PATH|HEARTBEAT|ANY_PRODUCT)$/],
]

/** The setting that has another one's place now. */
export function replacementOf(name: string): SettingName | undefined {
  return REPLACED.find(([, old]) => old.test(name.replace(/_FILE$/, '')))?.[0]
}

/** Without its old name, a password or a quota would be gone in silence: so these stop the start. */
function findReplacedSettings(all: Readonly<Record<string, string>>): readonly SettingFault[] {
  return Object.keys(all).flatMap(name => {
    const by = replacementOf(name)
    if (by === undefined) return []
    const remedy = say('put its value into {by} (`callback-courier settings {by}`)', { by })
    return [{ name, problem: 'is not read any more', remedy }]
  })
}

const NO_DOTENV = { dotenv: {}, ambiguous: [], strayLines: [] }

/** @returns the file's texts; `ambiguous`: values that Compose reads in another way; `strayLines`: those that set nothing */
function readDotenv({ dotenvPath: path, readFile }: SettingSources, faults: SettingFault[]) {
  if (path === undefined) return NO_DOTENV
  try {
    const read = readFile(path)
    // The rest is read all the same, so that no setting is called missing for it.
    const text = read.replace(/^\uFEFF|[\uFFFD\0]/g, '')
    const misencoded = findMisencoded(read)
    if (misencoded !== null)
      faults.push({ ...misencoded, name: say('line {line} of {path}', { line: misencoded.line, path }) })
    const ambiguous = settingNames.filter(name =>
      // Here every # ends a value, in Compose one behind a space; $NAME stands for another value in Compose.
      new RegExp(`^\\s*${name}=(?:(?!['"\`])[^#\\n]*(?:\\$[\\w{$]|[^\\s#]#)|"[^"\\n]*\\$[\\w{$])`, 'm').test(
        text,
      ),
    )
    const remedy = 'put the whole value into single quotes'
    const problem = say('in {path} is read differently by Compose, because of its $ or #', { path })
    return {
      dotenv: parseEnv(text),
      ambiguous: ambiguous.map((name): SettingFault => ({ name, problem, remedy })),
      strayLines: misencoded === null ? findStrayLines(text, path) : [],
    }
  } catch (error) {
    if (!isAbsent(error)) faults.push({ name: path, ...judgeUnreadable(error) })
    return NO_DOTENV
  }
}

/** Lines that are neither empty nor a remark nor `NAME=value`. By their number alone: one may hold half a secret. */
function findStrayLines(text: string, path: string): readonly SettingFault[] {
  // A value in quotes may take several lines.
  const unquoted = text.replace(/=[ \t]*(["'`])[\s\S]*?\1/g, value => `=${value.replace(/[^\n]/g, '')}`)
  return unquoted.split('\n').flatMap((line, at) => {
    if (/^\s*(?:#|$)|^\s*(?:export\s+)?[A-Za-z_][\w.-]*\s*=/.test(line)) return []
    const [word = ''] = /[\w.-]*/.exec(line.trim()) ?? []
    const isMeant = settingOf(word) !== null
    return [
      {
        name: say('line {n} of {path}', { n: at + 1, path }),
        problem: isMeant ? say('sets nothing, though it names {word}', { word }) : 'sets nothing',
        remedy: say('write {name}=value, or # in front of a remark', { name: isMeant ? word : 'NAME' }),
      },
    ]
  })
}

/** A setting's text, from the setting itself or, for a secret, from the file that `NAME_FILE` names. */
function valueOf(
  name: string,
  isSecret: boolean,
  all: Readonly<Record<string, string>>,
  sources: SettingSources,
  faults: SettingFault[],
): string | undefined {
  const path = isSecret ? all[`${name}_FILE`] : undefined
  if (path === undefined) return all[name]
  const fail = (problem: Words, remedy?: Words) => void faults.push({ name, problem, remedy })
  if (all[name] !== undefined) {
    fail(say('and {name}_FILE are both set', { name }), 'remove one of them')
    return all[name]
  }
  try {
    const value = sources.readFile(path).replace(/\r?\n$/, '')
    if (value.trim() !== '') return value
    fail(say('is given by {name}_FILE, but that file is empty', { name }))
  } catch (error) {
    const { problem, remedy } = judgeUnreadable(error)
    fail(say('is given by {name}_FILE, but that file {problem}', { name, problem: tell(problem) }), remedy)
  }
  return undefined
}

/** Names that nobody reads: near to one of ours anywhere, or anything in a dotenv file. */
function findUnknownSettings(
  all: Readonly<Record<string, string>>,
  dotenv: Readonly<Record<string, string | undefined>>,
): readonly SettingFault[] {
  const known = new Set<string>(settingNames)
  for (const name of settingNames) if ('secret' in allSettings[name]) known.add(`${name}_FILE`)
  return Object.keys(all).flatMap((name): SettingFault | readonly [] => {
    if (known.has(name) || NOT_OURS.test(name) || !/^[\w.-]+$/.test(name)) return []
    const near = nearestName(name, known)
    const problem = 'is not a setting of this service and is ignored'
    if (near !== null) return { name, problem, remedy: say('did you mean {near}?', { near }) }
    return Object.hasOwn(dotenv, name) ? { name, problem } : []
  })
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

/** The known name that was probably meant by an unknown one, or null: it begins alike, and at most two letters are others. */
export function nearestName(name: string, known: Iterable<string>): string | null {
  if (name.length < 5) return null
  const near = [...known].filter(each => each[0] === name[0] && countOthers(name, each) <= 2)
  return near.sort((one, other) => countOthers(name, one) - countOthers(name, other))[0] ?? null
}

/** How many letters stand in one name and not in the other, wherever they are: two that are swapped are none. */
function countOthers(one: string, other: string): number {
  const left = other.split('')
  const more = one.split('').filter(letter => {
    const at = left.indexOf(letter)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
  return more.length + left.length
}

/**
 * Says where this machine reaches the private listener of a running service: `http://127.0.0.1:9090`. Reads only the two
 * settings that say so, because a health check runs every few seconds and says nothing about the others.
 */
export function adminAddress(sources: SettingSources): string {
  const { given } = mergeSources(sources)
  const { ADMIN_HOST, ADMIN_PORT } = listeners.settings
  const host = given.ADMIN_HOST ?? String(ADMIN_HOST.default)
  return `http://${reachableHost(host)}:${given.ADMIN_PORT ?? ADMIN_PORT.default}`
}

/** The host to connect to, on this machine, for a listener on `host`: "every address" includes the loopback one. */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
