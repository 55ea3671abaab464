import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Row } from './once.ts'
import { readOptions, type SandboxOptions, USAGE } from './options.ts'
import { usualOrFree } from './ports.ts'
import type { Stage } from './stage.ts'

export interface SandboxIo {
  readonly stdout: { write(text: string): unknown }
  readonly stderr: { write(text: string): unknown }
  /** Ends the sandbox; without one it runs until the process ends. */
  readonly signal?: AbortSignal
}

/** All of `--once` takes no longer than this, ms; ending it all a little more. */
const ONCE_WITHIN_MS = 40_000

/**
 * The `sandbox` command. Resolves with the exit code: 0 when it was ended or all arrived; 1 when something did not
 * arrive as it should or could not start; 2 for a wrong command line or an installation without dev dependencies.
 */
export async function sandbox(argv: readonly string[], io: SandboxIo): Promise<number> {
  const read = readOptions(argv)
  if (read.is === 'help') {
    io.stdout.write(USAGE)
    return 0
  }
  if (read.is === 'fault') {
    io.stderr.write(`${read.fault}\n\n${USAGE}`)
    return 2
  }
  const parts = await load()
  if (!parts) {
    io.stderr.write(
      'The sandbox needs the development dependencies, which are not installed here (the image leaves them out): run "npm ci" in a checkout.\n',
    )
    return 2
  }
  try {
    return await (read.options.once ? once(parts, read.options, io) : serve(parts, read.options, io))
  } catch (error) {
    io.stderr.write(
      `The sandbox could not go on: ${error instanceof Error ? error.message : String(error)}\n`,
    )
    return 1
  }
}

type Parts = Awaited<ReturnType<typeof imports>>

/** Imported late: these stand on dev dependencies, and the command line must work without them. */
async function imports() {
  const [stage, page, once, table] = await Promise.all([
    import('./stage.ts'),
    import('./page.ts'),
    import('./once.ts'),
    import('./table.ts'),
  ])
  return { ...stage, ...page, ...once, ...table }
}

async function load(): Promise<Parts | null> {
  try {
    return await imports()
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND'
    if (missing && /'(smtp-server|postal-mime|selfsigned)'/.test(error.message)) return null
    throw error
  }
}

/** Runs until it is told to end. */
async function serve(parts: Parts, options: SandboxOptions, io: SandboxIo): Promise<number> {
  let changed = () => {}
  const devices = options.ports.devices ?? (await usualOrFree(8026))
  const stage = await parts.setStage({ ...options, devices }, () => changed())
  const page = parts.createSandboxPage(stage)
  try {
    changed = () => page.changed()
    const address = await page.listen(options.ports.page ?? (await usualOrFree(8025)))
    stage.linkBack(address)
    io.stdout.write(welcome(address, stage.about))
    await new Promise<void>(resolve => {
      if (io.signal?.aborted) resolve()
      io.signal?.addEventListener('abort', () => resolve(), { once: true })
    })
    io.stdout.write('Ending; nothing is kept.\n')
    return 0
  } finally {
    await page.close()
    await stage.close()
  }
}

function welcome(page: string, about: Stage['about']): string {
  const rows = [
    ['See and play', page],
    ...(about.devicesUrl === null ? [] : [['Devices', about.devicesUrl] as const]),
    ['E-mail URL', about.urls.email],
    ['E-mail Token', about.tokens.email],
    ['SMS URL', about.urls.sms],
    ['SMS Token', about.tokens.sms],
    ['Certificate', `${about.certFile} (self-signed)`],
    ['Mail server', about.smtp],
    ['Twilio', about.twilio],
    ['Health, metrics', about.adminUrl],
  ] as const
  const lines = rows.map(([name, value]) => `  ${name.padEnd(16)} ${value}`)
  return `\n${lines.join('\n')}\n\nNothing leaves this machine. Ctrl-C ends it.\n`
}

/** Plays everything once and says how it went. */
async function once(parts: Parts, options: SandboxOptions, io: SandboxIo): Promise<number> {
  // Nobody needs to know these ports, and two runs at once must not get into each other's way.
  const stage = await parts.setStage({
    ...options,
    devices: false,
    ports: { callbacks: 0, admin: 0, ...options.ports },
  })
  try {
    const rows = await parts.playOnce(stage, ONCE_WITHIN_MS)
    io.stdout.write(parts.table(rows, await keep(rows, options.save)))
    const complaints = parts.complaints(rows)
    if (complaints.length === 0) {
      const sent = rows.filter(row => row.arrived !== null).length
      io.stdout.write(`\nAll ${sent} messages arrived exactly once, as they should.\n`)
      return 0
    }
    io.stderr.write(`\nNot all is well:\n${complaints.map(line => `  ${line}\n`).join('')}`)
    const log = stage.log().filter(line => !line.includes('"level":30'))
    if (log.length > 0)
      io.stderr.write(`\nThe last warnings of the service's log:\n${log.slice(-12).join('\n')}\n`)
    return 1
  } finally {
    await stage.close()
  }
}

/** Writes what arrived into files and gives back, for each row, the one to look at. */
async function keep(rows: readonly Row[], directory: string): Promise<readonly string[]> {
  await mkdir(directory, { recursive: true })
  return Promise.all(
    rows.map(async ({ channel, kind, kept }) => {
      if (!kept) return ''
      const path = join(directory, `${channel}-${kind}`)
      for (const [ending, content] of Object.entries(kept)) await writeFile(`${path}.${ending}`, content)
      return `${path}.${'html' in kept ? 'html' : 'txt'}`
    }),
  )
}
