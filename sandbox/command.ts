import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ReaderLanguage } from '../src/language/sentence.ts'
import type { KindResult } from './once.ts'
import {
  type CommandIo,
  formatPairs,
  formatUsage,
  parseOptions,
  type SandboxCommandOptions,
  usualOrFreePort,
  waitForAbort,
} from './options.ts'
import type { Sandbox } from './sandbox.ts'
import { speak } from './words.ts'

/** How long `--once` waits for the messages, ms. Ending the sandbox takes a little longer. */
const ONCE_WITHIN_MS = 40_000

/**
 * The `sandbox` command. Resolves with the exit code: 0 when it was ended or all arrived; 1 when something did not
 * arrive as it should or could not start; 2 for a wrong command line or an installation without dev dependencies.
 */
export async function runSandboxCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const { language = 'en' } = io
  const usage = formatUsage(language)
  const parsed = parseOptions(argv, language)
  if (parsed.is === 'help') {
    io.stdout.write(usage)
    return 0
  }
  if (parsed.is === 'fault') {
    io.stderr.write(`${parsed.fault}\n\n${usage}`)
    return 2
  }
  const modules = await loadModules()
  if (!modules) {
    io.stderr.write(
      `${speak(language, 'The sandbox needs the development dependencies, which are not installed here (the image leaves them out): run "npm ci" in a checkout.')}\n`,
    )
    return 2
  }
  try {
    return await (parsed.options.once
      ? runOnce(modules, parsed.options, io)
      : serve(modules, parsed.options, io))
  } catch (error) {
    io.stderr.write(
      `${speak(language, 'The sandbox could not go on: {why}', { why: error instanceof Error ? error.message : String(error) })}\n`,
    )
    return 1
  }
}

type Modules = Awaited<ReturnType<typeof importModules>>

/** Imports the modules that need development dependencies; `--help` works without them. */
async function importModules() {
  const [sandbox, page, once] = await Promise.all([
    import('./sandbox.ts'),
    import('./page.ts'),
    import('./once.ts'),
  ])
  return { ...sandbox, ...page, ...once }
}

/** Null when the development dependencies are not installed. */
async function loadModules(): Promise<Modules | null> {
  try {
    return await importModules()
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND'
    if (missing && /'(smtp-server|postal-mime|selfsigned)'/.test(error.message)) return null
    throw error
  }
}

/** Runs the sandbox and its page until the signal ends them. */
async function serve(modules: Modules, options: SandboxCommandOptions, io: CommandIo): Promise<number> {
  let changed = () => {}
  const devices = options.ports.devices ?? (await usualOrFreePort(8026))
  const sandbox = await modules.startSandbox({ ...options, devices, language: io.language }, () => changed())
  const page = modules.createSandboxPage(sandbox)
  try {
    changed = () => page.changed()
    const address = await page.listen(options.ports.page ?? (await usualOrFreePort(8025)))
    sandbox.linkDevicesTo(address)
    io.stdout.write(describeAddresses(address, sandbox, io.language))
    await waitForAbort(io.signal)
    io.stdout.write(`${speak(io.language ?? 'en', 'Ending; nothing is kept.')}\n`)
    return 0
  } finally {
    await page.close()
    await sandbox.close()
  }
}

function describeAddresses(
  page: string,
  { about }: Pick<Sandbox, 'about'>,
  language: ReaderLanguage = 'en',
): string {
  const pairs = [
    ['See and play', page],
    ...(about.devicesUrl === null ? [] : [['Devices', about.devicesUrl] as const]),
    ['E-mail URL', about.urls.email],
    ['E-mail Token', about.tokens.email],
    ['SMS URL', about.urls.sms],
    ['SMS Token', about.tokens.sms],
    ['Certificate', speak(language, '{file} (self-signed)', { file: about.certFile })],
    ...about.carriers.map(({ title, url }) => [title, url] as const),
    ['Health, metrics', about.adminUrl],
    ...(about.consoleUrl === null ? [] : [['Console', about.consoleUrl] as const]),
  ] as const
  const spoken = formatPairs(pairs.map(([name, value]) => [speak(language, name), value]))
  return `\n${spoken}\n${speak(language, 'Nothing leaves this machine. Ctrl-C ends it.')}\n`
}

/** Sends each kind once and prints how it went. */
async function runOnce(modules: Modules, options: SandboxCommandOptions, io: CommandIo): Promise<number> {
  const { language = 'en' } = io
  // Any free ports will do, and two runs at the same time must not want the same ones.
  const sandbox = await modules.startSandbox({
    ...options,
    language,
    devices: false,
    ports: { callbacks: 0, admin: 0, ...options.ports },
  })
  try {
    const rows = await modules.sendEachKindOnce(sandbox, ONCE_WITHIN_MS)
    io.stdout.write(modules.formatResults(rows, await saveFiles(rows, options.save), io.language))
    const faults = modules.listFaults(rows, modules.countExpected(sandbox.standIns))
    if (faults.length === 0) {
      const sent = rows.filter(row => row.arrived !== null).length
      const all = speak(language, 'All {sent} messages arrived exactly once, as they should.', { sent })
      io.stdout.write(`\n${all}\n`)
      return 0
    }
    io.stderr.write(`\n${speak(language, 'Not all is well:')}\n${faults.map(line => `  ${line}\n`).join('')}`)
    const log = sandbox.log().filter(line => !line.includes('"level":30'))
    if (log.length > 0)
      io.stderr.write(
        `\n${speak(language, "The last warnings of the service's log:")}\n${log.slice(-12).join('\n')}\n`,
      )
    return 1
  } finally {
    await sandbox.close()
  }
}

/** Writes what arrived into files. @returns for each row the path of the one to look at, or an empty text. */
async function saveFiles(rows: readonly KindResult[], directory: string): Promise<readonly string[]> {
  await mkdir(directory, { recursive: true })
  return Promise.all(
    rows.map(async ({ channel, kind, carrier, files }) => {
      if (!files) return ''
      const by = carrier === null ? '' : `-${carrier.toLowerCase()}`
      const path = join(directory, `${channel}-${kind}${by}`)
      for (const [ending, content] of Object.entries(files)) await writeFile(`${path}.${ending}`, content)
      return `${path}.${'html' in files ? 'html' : 'txt'}`
    }),
  )
}
