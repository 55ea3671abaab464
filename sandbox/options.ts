import { once } from 'node:events'
import { createServer } from 'node:net'
import { type Io, readArguments, UsageError } from '../src/commands/command.ts'
import { settingNames, settingOf } from '../src/config/settings.ts'
import { nearestName } from '../src/config/sources.ts'
import type { ReaderLanguage } from '../src/language/sentence.ts'
import { columnsOf, fillLines, padColumn } from '../src/runtime/terminal.ts'
import { speak } from './words.ts'

/** Each option with the name of its value, and what it does. */
const OPTIONS: Readonly<Record<string, string>> = {
  '--once':
    'play each kind once, SMS by each carrier, print a table, end; the exit code is 0 only when each arrived exactly once',
  '--save DIR': 'with --once: where to keep what arrived (default data/sandbox)',
  '--port N': 'port of the callbacks (8443, or a free one)',
  '--admin-port N': 'port of health, metrics and console (9090, or a free one)',
  '--page-port N': 'port of the page (8025, or a free one)',
  '--devices-port N': 'port of the page of devices that raise alerts (8026, or a free one)',
  '--set NAME=VALUE':
    "a setting of the service, such as --set LOCALE=zh-CN; may be repeated. Not those of mail server, carriers and certificate, which are the sandbox's own",
}

const ABOUT =
  'The real service against a mail server and SMS carriers of this machine, and a page that shows what arrived. Needs no account, no certificate and no setting; nothing leaves the machine and nothing is kept.'

/** The text that `--help` prints. */
export function formatUsage(
  language: ReaderLanguage,
  command = 'sandbox',
  about = ABOUT,
  options = OPTIONS,
): string {
  const width = Math.max(...Object.keys(options).map(head => head.length)) + 2
  const rows = Object.entries(options).map(
    ([head, text]) =>
      `  ${head.padEnd(width)}${fillLines(speak(language, text), 116 - width).join(`\n${' '.repeat(width + 2)}`)}\n`,
  )
  const lines = fillLines(speak(language, about), 116).map(line => `  ${line}\n`)
  return `npm run ${command} -- [OPTIONS]\n\n${lines.join('')}\n${rows.join('')}`
}

export interface SandboxCommandOptions {
  readonly once: boolean
  readonly save: string
  /** Undefined: the usual one, or a free one when that is taken. */
  readonly ports: {
    readonly callbacks?: number
    readonly admin?: number
    readonly page?: number
    readonly devices?: number
  }
  /** Settings that take precedence over the sandbox's own. */
  readonly settings: Readonly<Record<string, string>>
}

export type ParsedOptions =
  | { readonly is: 'run'; readonly options: SandboxCommandOptions }
  | { readonly is: 'help' }
  /** A sentence for whoever typed it. */
  | { readonly is: 'fault'; readonly fault: string }

/** Reads the command line, without the `sandbox` in front. */
export function parseOptions(argv: readonly string[], language: ReaderLanguage): ParsedOptions {
  try {
    const { values } = readArguments(argv, {
      once: { type: 'boolean', default: false },
      save: { type: 'string', default: 'data/sandbox' },
      port: { type: 'string' },
      'admin-port': { type: 'string' },
      'page-port': { type: 'string' },
      'devices-port': { type: 'string' },
      set: { type: 'string', multiple: true, default: [] as string[] },
      help: { type: 'boolean', short: 'h', default: false },
    })
    if (values.help) return { is: 'help' }
    const ports = {
      ...port('callbacks', '--port', values.port, language),
      ...port('admin', '--admin-port', values['admin-port'], language),
      ...port('page', '--page-port', values['page-port'], language),
      ...port('devices', '--devices-port', values['devices-port'], language),
    }
    const taken = Object.values(ports).filter(number => number !== 0)
    if (new Set(taken).size < taken.length)
      throw new TypeError(speak(language, 'two of the ports are the same'))
    return {
      is: 'run',
      options: {
        once: values.once,
        save: values.save,
        ports,
        settings: Object.fromEntries(values.set.map(text => setting(text, language))),
      },
    }
  } catch (error) {
    return { is: 'fault', fault: describeMisuse(error, language) }
  }
}

/** What is wrong with a command line, for whoever typed it. @throws the error itself when it is about something else */
export function describeMisuse(error: unknown, language: ReaderLanguage): string {
  if (error instanceof UsageError) return error.sentence.in(language)
  if (error instanceof TypeError) return error.message
  throw error
}

function port(
  name: string,
  flag: string,
  text: string | undefined,
  language: ReaderLanguage,
): Record<string, number> {
  if (text === undefined) return {}
  const number = Number(text)
  if (!/^\d{1,5}$/.test(text) || number > 65_535)
    throw new TypeError(
      speak(language, '{flag} must be a port number, 0 to 65535; 0 is any free one', { flag }),
    )
  return { [name]: number }
}

const OPTION_OF: Readonly<Record<string, string>> = { PORT: '--port', ADMIN_PORT: '--admin-port' }

function setting(text: string, language: ReaderLanguage): [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw new TypeError(speak(language, '--set must be followed by NAME=VALUE'))
  const [name, value] = [text.slice(0, at), text.slice(at + 1)]
  const option = OPTION_OF[name]
  if (option !== undefined)
    throw new TypeError(speak(language, '--set {name}: that is what {option} is for', { name, option }))
  if (settingOf(name) === null) {
    const near = nearestName(name, settingNames)
    throw new TypeError(
      near === null
        ? speak(language, '--set {name} is no setting; `callback-courier settings` lists them', { name })
        : speak(language, '--set {name} is no setting: did you mean {near}?', { name, near }),
    )
  }
  return [name, value]
}

/** `port` when nobody listens there on this machine, else 0: any free one. */
export function usualOrFreePort(port: number): Promise<number> {
  return new Promise(resolve => {
    const probe = createServer()
    probe.once('error', () => resolve(0))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(port)))
  })
}

/** The environment of the command lines of sandbox and emulator; `signal` ends them. */
export type CommandIo = Pick<Io, 'stdout' | 'stderr'> & {
  readonly signal: AbortSignal
  /** Of the reader; English unless given. */
  readonly language?: ReaderLanguage
}

/** Resolves once the signal is aborted. */
export async function waitForAbort(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

/** Pairs of a name and a value as the lines of a table without borders. */
export function formatPairs(pairs: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...pairs.map(([name]) => columnsOf(name)))
  return pairs.map(([name, value]) => `  ${padColumn(name, width)}  ${value}\n`).join('')
}
