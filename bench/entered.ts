import { mkdtemp, rm } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createCertificate } from '../sandbox/certificate.ts'
import { startService } from '../src/service/service.ts'
import { startChild } from './child.ts'
import { buildPost, expectErrCodeZero, openClient } from './https-client.ts'
import { emailCallback } from './numbered-callbacks.ts'
import { createSettings, PATHS } from './service.ts'

/**
 * Counts the functions and files of src/ that one e-mail POST enters on the main thread, from its socket to its
 * settled row: V8's precise coverage of a warm service between two points, with the timers of an idle second taken off.
 * `node bench/entered.ts` prints the counts; with `--list` every function too.
 */
const WARM_UP = 20
const SETTLE_MS = 1000
const SRC = join(import.meta.dirname, '..', 'src')

const directory = await mkdtemp(join(tmpdir(), 'courier-entered-'))
const certificate = await createCertificate(Date.now())
const sink = await startChild('./sinks/smtp.ts')
const smtpPort = await sink.ask<number>({ is: 'port' })
const env = await createSettings({ certificate, smtpPort, twilioPort: 9 }, directory, 0)
const service = await startService({ ...env, LOG_LEVEL: 'warn' })
const client = await openClient({
  port: Number(new URL(service.publicUrl).port),
  ca: certificate.cert,
  connections: 1,
})
const session = new Session()
session.connect()

/** Reads the functions that were entered since the last call, as `file: function`, with how often. */
async function takeEntered(): Promise<Map<string, number>> {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const found = new Map<string, number>()
  for (const { url, functions } of result) {
    const file = url.startsWith('file:') ? relative(SRC, fileURLToPath(url)) : '..'
    if (file.startsWith('..')) continue
    for (const { functionName, ranges } of functions) {
      const [range] = ranges
      if (range !== undefined && range.count > 0)
        found.set(`${file}:${range.startOffset} ${functionName}`, range.count)
    }
  }
  return found
}

let number = 0
async function post(times: number): Promise<void> {
  await client.sendAtRate(100, times / 100, () => ({
    request: buildPost(PATHS.email, emailCallback((number += 1)).body),
    check: expectErrCodeZero,
  }))
  await pause(SETTLE_MS)
}

await post(WARM_UP)
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
await takeEntered()
await pause(SETTLE_MS)
const idle = await takeEntered()
await post(1)
const all = [...(await takeEntered())]
  .filter(([name]) => !idle.has(name))
  .toSorted(([a], [b]) => (a < b ? -1 : 1))
const fileOf = (name: string): string => name.slice(0, name.indexOf(':'))
process.stdout.write(
  `one e-mail POST enters ${all.length} functions in ${new Set(all.map(([name]) => fileOf(name))).size} files of src/\n`,
)
for (const [room, functions = []] of Object.entries(
  Object.groupBy(all, ([name]) => name.split('/')[0] ?? ''),
)) {
  const files = new Set(functions.map(([name]) => fileOf(name)))
  process.stdout.write(`${String(functions.length).padStart(5)} in ${files.size} files of ${room}\n`)
}
if (process.argv.includes('--list'))
  for (const [name, count] of all) process.stdout.write(`${name} ×${count}\n`)

client.close()
await service.close()
await sink.stop()
await rm(directory, { recursive: true, force: true })
