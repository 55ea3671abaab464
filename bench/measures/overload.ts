import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { noPostgres, openPostgres } from '../../test/rigs/postgres.ts'
import { createMemoryLimit } from '../cgroup.ts'
import { startChild, watchUsage } from '../child.ts'
import { type Figure, figure } from '../figures.ts'
import type { FloodAnswer, FloodQuestion, OpenQuestion } from '../flood-driver.ts'
import { buildPost, type Exchange, expectErrCodeZero, GREETING, openClient } from '../https-client.ts'
import { emailCallback, smsCallback } from '../numbered-callbacks.ts'
import { PATHS } from '../service.ts'
import type { Channel, Session } from '../session.ts'
import type { Received } from '../sinks/tally.ts'

/** What the image's compose file gives the service. */
const MEMORY_BYTES = 512 * 1024 * 1024
/** Callbacks under way when the rate is measured. */
const USUAL = 64
/** Fewer than the listener takes of callers that have not shown their key. */
const CONNECTIONS = 900
/** To measure the rate that it can keep up, and from the end of the flood until everything has to be as before. */
const MEASURE_S = 5
const FLOOD_S = 60

/** A fresh service, within the memory of its container, and ten times what it can take; on Postgres, too, where that is installed. */
export async function measureOverload(session: Session): Promise<Figure[]> {
  const postgres = noPostgres === false ? await openPostgres({ durable: true }) : null
  try {
    const figures: Figure[] = []
    for (const channel of ['email', 'sms'] as const) {
      figures.push(...(await flood(session, channel, 'SQLite', {})))
      if (postgres !== null)
        figures.push(...(await flood(session, channel, 'Postgres', { DATABASE_URL: await postgres.url() })))
    }
    return figures
  } finally {
    await postgres?.close()
  }
}

/** The service has one core, where there are two, and the platform and the providers the other: so its own slowness is nobody's answer. */
async function flood(
  session: Session,
  channel: Channel,
  store: string,
  env: Readonly<Record<string, string>>,
): Promise<Figure[]> {
  const limit = createMemoryLimit(MEMORY_BYTES)
  const driver = await startChild('./flood-driver.ts')
  const start = () => session.startService({ env })
  const service = await (limit === null ? start() : limit.during(start))
  const usage = watchUsage(service.pid)
  pin(service.pid, 0)
  for (const { pid } of [driver, ...Object.values(session.sinks)]) pin(pid, 1)
  const { port } = service
  const ca = session.certificate.cert
  const usual = await openClient({ port, ca, connections: USUAL, greeting: GREETING })
  const make = channel === 'email' ? emailCallback : smsCallback
  const promised: [number, number][] = []
  const plain = (): Exchange => {
    const { number, body } = make(session.numbers.next())
    promised.push([number, number])
    return { request: buildPost(PATHS[channel], body), check: expectErrCodeZero }
  }
  try {
    await usual.sendAtRate(100, 1, plain)
    const { perSecond } = await usual.saturate(MEASURE_S, plain)
    const opening: OpenQuestion = { is: 'open', port, ca, connections: CONNECTIONS }
    await driver.ask(opening)
    const from = session.numbers.next()
    const load = { perSecond: perSecond * 10, seconds: FLOOD_S, from }
    const asked: FloodQuestion = { is: 'flood', path: PATHS[channel], channel, ...load }
    const found = await driver.ask<FloodAnswer>(asked)
    while (session.numbers.taken() < from + found.sent) session.numbers.next()
    for (const number of found.promised) promised.push([number, number])
    await sleep(MEASURE_S * 1000)
    const after = await usual.sendAtRate(perSecond / 2, MEASURE_S, plain)
    const { missing, doubled, wrong } = await awaitArrival(session, channel, promised)
    const kills = limit?.kills() ?? 0
    const broken = missing + doubled + wrong + found.unanswered + found.others.length + kills
    if (broken > 0)
      throw new Error(
        `${channel}: ${missing} missing, ${doubled} doubled, ${wrong} wrong, ${found.unanswered} unanswered, killed ${kills} times, others ${found.others.slice(0, 3).join()}`,
      )
    const of = (what: string, unit: string, value: number) =>
      figure(`${channel}, ${store}, overload: ${what}`, unit, [value])
    return [
      of('rate before', '/s', perSecond),
      of('accepted', '/s', found.accepted.perSecond),
      of('p99 of what is accepted', 'ms', found.accepted.p99Ms),
      of('p99 of what is refused', 'ms', found.refused.p99Ms),
      of('p99 afterwards, at half the rate', 'ms', after.p99Ms),
      of('the platform late by', 'ms', found.lateMs),
      of('memory', 'MB', usage.read().peakMb),
    ]
  } finally {
    usage.stop()
    usual.close()
    await Promise.all([service.stop(), driver.stop()])
    limit?.remove()
  }
}

/** Keeps a process with all its threads on one core, where that can be had. */
function pin(pid: number, core: number): void {
  if (availableParallelism() > 1) spawnSync('taskset', ['-a', '-c', '-p', String(core), String(pid)])
}

async function awaitArrival(
  session: Session,
  channel: Channel,
  asked: readonly [number, number][],
): Promise<Received> {
  for (const end = performance.now() + 300_000; ; await sleep(100)) {
    const received = await session.sinks[channel].ask<Received>({ is: 'received', asked })
    if (received.missing === 0 || performance.now() > end) return received
  }
}
