import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { deriveCallbackKey } from '../../src/callback/authenticate.ts'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { journalPath, readAttemptJournal } from '../../src/outbox/sqlite/attempt-journal.ts'
import { type Callback, createCallbacks } from '../faults/callbacks.ts'
import { judge, type Row, readRows } from '../faults/checker.ts'
import { type Answered, createDriver, type Driver } from '../faults/driver.ts'
import { backlogOf, pause } from '../faults/stage.ts'
import { createTestCertificate } from '../rigs/certificate.ts'
import { printTotal, type Run } from './report.ts'
import { spawnWaiting } from './service.ts'
import { loadSettings } from './settings.ts'
import { startSinks } from './sinks.ts'

const USAGE = `npm run test:crash -- [--loops 50] [--seed N]

Kills the service (SIGKILL) at a random moment under load, starts it again on the same store, and so on; then lets it
finish. Joins what was answered with what arrived and what the store says. Ends with 1 when a message that was answered
0 is lost or unknown, when a copy came without an ambiguous attempt on record, or when an attempt is on record that was
not under way at the kill.`

const { values } = parseArgs({
  options: {
    loops: { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    help: { type: 'boolean', default: false },
  },
})

/** It is killed when so many callbacks were answered, at most, and a moment more; or after so long, ms. */
const ANSWERS = 100
const MOMENT_MS = 30
const LOAD_MS = 2000
/** Every eighth or so is killed while it starts. */
const EARLY = 0.12
const CALLERS = { email: 12, sms: 6 } as const
const TOKEN = { email: 'crash-run-email-token-long-enough', sms: 'crash-run-sms-token-long-enough' } as const
const SECRET = 'crash-run-store-secret-0123456789'
const CORP = 'crash-run'

/** xorshift32: the same seed gives the same moments, as far as a machine allows. */
function randomFrom(seed: number): () => number {
  let x = seed | 1
  return () => {
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    return (x >>> 0) / 2 ** 32
  }
}

async function main(loops: number, seed: number): Promise<number> {
  const random = randomFrom(seed)
  const began = performance.now()
  const directory = await mkdtemp(join(tmpdir(), 'courier-crash-'))
  const sinks = await startSinks(() => random() * 25)
  const { key, cert } = await createTestCertificate()
  await writeFile(join(directory, 'cert.pem'), cert)
  await writeFile(join(directory, 'key.pem'), key)
  const store = join(directory, 'outbox.db')
  const env = {
    ...loadSettings({
      corp: CORP,
      token: TOKEN,
      storeSecret: SECRET,
      directory,
      databaseUrl: `file:${store}`,
      smtpPort: sinks.smtpPort,
      twilioUrl: sinks.twilioUrl,
    }),
    DRAIN_SECONDS: '0',
    NODE_COMPILE_CACHE: join(directory, 'cache'),
    PATH: process.env['PATH'] ?? '',
  }

  const answers: Answered[] = []
  const runs: Run[] = []
  let inJournal: ReadonlyMap<string, string> | null = null
  /** Which messages were being sent when it was killed. A life that ended early may have left the journal as it was. */
  const readBegun = (early: boolean): readonly string[] => {
    const before = inJournal
    inJournal = readAttemptJournal(journalPath(store))
    return [...(inJournal?.keys() ?? [])].filter(id => !early || before?.has(id) !== true)
  }
  const callbackOf = createCallbacks()
  let again: Callback[] = []
  let next = spawnWaiting(env)
  try {
    for (let loop = 1; loop <= loops + 1; loop++) {
      const service = next
      if (loop <= loops) next = spawnWaiting(env)
      await service.ready
      const starting = service.go()
      const last = loop > loops
      if (!last && random() < EARLY) setTimeout(() => service.kill('SIGKILL'), random() * 200)
      const at = await starting
      if (at === null) {
        if ((await service.ended) !== 'SIGKILL') throw new Error(`it did not start: ${service.complaints()}`)
        runs.push({ early: true, begun: readBegun(true) })
        continue
      }
      if (last) {
        await finish(service, at.adminUrl)
        continue
      }
      const driver = createDriver({ urls: () => urlsAt(at.publicUrl), ca: cert, connections: 32 })
      const load = callers(driver, callbackOf, again)
      await underLoad(driver, random() * ANSWERS)
      await pause(random() * MOMENT_MS)
      service.kill('SIGKILL')
      await Promise.all([load.stop(), service.ended])
      await driver.close()
      answers.push(...driver.record)
      // What got no answer the platform says again, or not.
      again = driver.record
        .filter(each => each.status === undefined && random() < 0.5)
        .map(each => each.callback)
      runs.push({ early: false, begun: readBegun(false) })
      progress(loop, loops, answers.length, began)
    }
    const { recipientHash } = createStoreKeys(SECRET)
    const rows = readRows(store)
    const judged = judge({ answers, arrivals: sinks.arrivals, rows, recipientHash })
    const judgement = { ...judged, breaches: [...judged.breaches, ...findNeverBegun(runs, rows)] }
    const print = (line: string) => process.stdout.write(`${line}\n`)
    printTotal(runs, judgement, (performance.now() - began) / 1000, print)
    return judgement.lost > 0 || judgement.unknown > 0 || judgement.breaches.length > 0 ? 1 : 0
  } finally {
    next.kill('SIGKILL')
    await next.ended
    await sinks.close()
    await rm(directory, { recursive: true, force: true })
  }
}

/** A message that merely waited in memory when the process was killed is not ambiguous. */
function findNeverBegun(runs: readonly Run[], rows: readonly Row[]): readonly string[] {
  const begun = new Map<string, number>()
  for (const id of runs.flatMap(run => run.begun)) begun.set(id, (begun.get(id) ?? 0) + 1)
  return rows.flatMap(({ id, timeline }) => {
    const lost = timeline.filter(({ outcome }) => outcome === 'lease-lost').length
    const times = begun.get(id) ?? 0
    return lost > times
      ? [`${id}: ${lost} lost attempts on record, and it was being sent at ${times} kills`]
      : []
  })
}

/** Posts callback after callback on both channels until it is stopped; first those that are said again. */
function callers(driver: Driver, callbackOf: ReturnType<typeof createCallbacks>, again: readonly Callback[]) {
  let stopped = false
  const first = [...again]
  const call = async (channel: 'email' | 'sms') => {
    while (!stopped) {
      const callback = first.pop() ?? callbackOf(channel, { lifeMs: 24 * 3_600_000 })
      const { status } = await driver.post(callback)
      if (status === undefined) return
    }
  }
  const all = (['email', 'sms'] as const).flatMap(channel =>
    Array.from({ length: CALLERS[channel] }, () => call(channel)),
  )
  return {
    stop: () => {
      stopped = true
      return Promise.all(all)
    },
  }
}

async function underLoad(driver: Driver, answers: number): Promise<void> {
  for (const end = performance.now() + LOAD_MS; driver.record.length < answers; await pause(1))
    if (performance.now() > end) return
}

async function finish(service: ReturnType<typeof spawnWaiting>, adminUrl: string): Promise<void> {
  for (const end = performance.now() + 120_000; (await backlogOf(adminUrl)) > 0; await pause(100))
    if (performance.now() > end) throw new Error('messages are still live two minutes after the last start')
  service.kill('SIGTERM')
  const code = await service.ended
  if (code !== 0) throw new Error(`it ended with ${code}: ${service.complaints()}`)
}

function urlsAt(origin: string): { readonly email: string; readonly sms: string } {
  const at = (channel: 'email' | 'sms') =>
    `${origin}/callback/${CORP}/${deriveCallbackKey(channel, CORP, TOKEN[channel])}/${channel}`
  return { email: at('email'), sms: at('sms') }
}

function progress(loop: number, loops: number, posted: number, began: number): void {
  if (loop % 10 > 0) return
  const seconds = Math.round((performance.now() - began) / 1000)
  process.stderr.write(`${loop} of ${loops} loops, ${posted} callbacks, ${seconds} s\n`)
}

if (values.help) {
  process.stdout.write(`${USAGE}\n`)
  process.exit(0)
}
process.exit(await main(Number(values.loops), Number(values.seed)))
