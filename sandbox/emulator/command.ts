import { readArguments } from '../../src/commands/command.ts'
import type { ReaderLanguage } from '../../src/language/sentence.ts'
import {
  type CommandIo,
  describeMisuse,
  formatPairs,
  formatUsage,
  usualOrFreePort,
  waitForAbort,
} from '../options.ts'
import { speak } from '../words.ts'
import { createEmulator, type Emulator } from './emulator.ts'
import { createEmulatorPage } from './page.ts'

const ABOUT =
  'A platform on this machine, to build against and to try a service with: its API (logins, gateway), its data subscription (DDQ) with devices, its callbacks, and a page on which each of them, and each of their faults, is a button. Nothing leaves the machine but the callbacks, to the URL that you give.'

/** Each option with the name of its value, and what it does. */
const OPTIONS: Readonly<Record<string, string>> = {
  '--page-port N': 'port of the page (8026, or a free one)',
  '--api-port N': 'port of the API (8090, or a free one)',
  '--ddq-port N': 'port of the data subscription (8091, or a free one)',
  '--corp-id ID': "the enterprise's identifier",
  '--auth-path PATH': 'where DDQ is authenticated at (/auth); the platform does not publish it',
  '--subscribe-path PATH': 'where topics are subscribed to (/subscribe); the platform does not publish it',
  '--token-minutes N': 'life of a credential, minutes (120)',
  '--expire-in UNIT':
    'unit of expire_in, which the contract does not name: seconds (default) or milliseconds',
}

interface EmulateOptions {
  readonly pagePort: number | undefined
  readonly apiPort: number | undefined
  readonly ddqPort: number | undefined
  readonly corpId: string | undefined
  readonly authPath: string
  readonly subscribePath: string
  readonly tokenMinutes: number
  readonly expireIn: 'seconds' | 'milliseconds'
}

/** Reads the command line, without the `emulate` in front. @throws UsageError, or TypeError with a sentence for whoever typed it. */
function parseOptions(argv: readonly string[], language: ReaderLanguage): EmulateOptions {
  const { values } = readArguments(argv, {
    'page-port': { type: 'string' },
    'api-port': { type: 'string' },
    'ddq-port': { type: 'string' },
    'corp-id': { type: 'string' },
    'auth-path': { type: 'string', default: '/auth' },
    'subscribe-path': { type: 'string', default: '/subscribe' },
    'token-minutes': { type: 'string', default: '120' },
    'expire-in': { type: 'string', default: 'seconds' },
  })
  const { 'auth-path': authPath, 'subscribe-path': subscribePath, 'expire-in': expireIn } = values
  for (const [flag, path] of [
    ['--auth-path', authPath],
    ['--subscribe-path', subscribePath],
  ])
    if (!path?.startsWith('/'))
      throw new TypeError(speak(language, '{flag} must begin with /', { flag: flag ?? '' }))
  if (authPath === subscribePath)
    throw new TypeError(speak(language, '--auth-path and --subscribe-path must differ'))
  if (expireIn !== 'seconds' && expireIn !== 'milliseconds')
    throw new TypeError(speak(language, '--expire-in must be seconds or milliseconds'))
  const readNumber = (flag: string, text: string | undefined, most: number): number | undefined => {
    if (text === undefined) return undefined
    if (!/^\d{1,6}$/.test(text) || Number(text) > most)
      throw new TypeError(speak(language, '{flag} must be a number from 0 to {most}', { flag, most }))
    return Number(text)
  }
  return {
    pagePort: readNumber('--page-port', values['page-port'], 65_535),
    apiPort: readNumber('--api-port', values['api-port'], 65_535),
    ddqPort: readNumber('--ddq-port', values['ddq-port'], 65_535),
    corpId: values['corp-id'],
    authPath,
    subscribePath,
    tokenMinutes: readNumber('--token-minutes', values['token-minutes'], 100_000) ?? 120,
    expireIn,
  }
}

/**
 * The emulator's command line. Resolves with the exit code once it was told to end: 0, or 2 for wrong options.
 * @param argv without node, script and `emulate`.
 */
export async function runEmulateCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const { language = 'en' } = io
  const usage = formatUsage(language, 'emulate', ABOUT, OPTIONS)
  if (argv.includes('--help') || argv.includes('-h')) {
    io.stdout.write(usage)
    return 0
  }
  let options: EmulateOptions
  try {
    options = parseOptions(argv, language)
  } catch (error) {
    io.stderr.write(`emulate: ${describeMisuse(error, language)}\n\n${usage}`)
    return 2
  }
  await runEmulator(options, io)
  return 0
}

/** Runs the emulator and its page until the signal ends them. */
async function runEmulator(options: EmulateOptions, io: CommandIo): Promise<void> {
  const { language = 'en' } = io
  let changed = () => {}
  const emulator = await createEmulator({
    ports: {
      api: options.apiPort ?? (await usualOrFreePort(8090)),
      ddq: options.ddqPort ?? (await usualOrFreePort(8091)),
    },
    paths: { authenticate: options.authPath, subscribe: options.subscribePath },
    credentials: { lifeMs: options.tokenMinutes * 60_000, unit: options.expireIn },
    corpId: options.corpId,
    changed: () => changed(),
  })
  const page = createEmulatorPage({ emulator })
  changed = () => page.changed()
  try {
    const address = await page.listen(options.pagePort ?? (await usualOrFreePort(8026)))
    io.stdout.write(describeAddresses(address, emulator, language))
    await waitForAbort(io.signal)
    io.stdout.write(`${speak(language, 'Ending; nothing is kept.')}\n`)
  } finally {
    await page.close()
    await emulator.close()
  }
}

function describeAddresses(
  page: string,
  { baseUrl, ddqPort, accounts, settings }: Emulator,
  language: ReaderLanguage,
): string {
  const addresses = [
    ['Press buttons', page],
    ['API', baseUrl],
    ['DDQ', `127.0.0.1:${ddqPort}`],
    ['Member', `${accounts.corp.account} / ${accounts.corp.password}`],
    ['User', `${accounts.user.email} / ${accounts.user.password}`],
    ['Application', `${accounts.app.appId} / ${accounts.app.appSecret}`],
  ].map(([name = '', value = '']) => [speak(language, name), value] as const)
  const pairs = Object.entries(settings).map(([name, value]) => `  ${name}=${value}`)
  const settingsTitle = speak(language, 'Settings that point a service at it:')
  return `\n${formatPairs(addresses)}\n${settingsTitle}\n\n${pairs.join('\n')}\n\n${speak(language, 'Ctrl-C ends it.')}\n`
}
