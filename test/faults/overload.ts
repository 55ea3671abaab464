import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { type Child, startChild, watchUsage } from '../../bench/child.ts'
import type { FloodAnswer, FloodQuestion, OpenQuestion } from '../../bench/flood-driver.ts'
import { createFloodTally, type FloodAnswers } from '../../bench/flood-tally.ts'
import {
  buildPost,
  type Client,
  type Exchange,
  expectErrCodeZero,
  GREETING,
  openClient,
} from '../../bench/https-client.ts'
import type { LoopResult } from '../../bench/loop.ts'
import { emailCallback, smsCallback } from '../../bench/numbered-callbacks.ts'
import { PATHS } from '../../bench/service.ts'
import type { Channel, Session } from '../../bench/session.ts'
import type { Received } from '../../bench/sinks/tally.ts'
import { createMemoryLimit } from '../rigs/cgroup.ts'
import { freePort } from '../rigs/free-port.ts'

/** What the image's compose file gives the service. */
const MEMORY_BYTES = 512 * 1024 * 1024

/** Callbacks under way when the rate is measured. */
const USUAL = 64

/** A second platform that sends so few a second that it is never late itself, and has always a connection for the next. */
const BYSTANDER = { perSecond: 50, connections: 64 }

/** How much is asked of the service, and for how long. */
export interface OverloadSize {
  /** Callbacks under way at most. */
  readonly connections: number
  /** To measure the rate that it can keep up. */
  readonly measureSeconds: number
  readonly floodSeconds: number
  /** From the end of the flood until everything has to be as before. */
  readonly recoverSeconds: number
}

/** What became of ten times as many callbacks as the service can take. */
export interface OverloadReport {
  /** The rate that it can keep up, /s. */
  readonly sustainable: number
  /** Rates that were asked for, and that found a connection, /s. */
  readonly offered: number
  readonly sent: number
  readonly accepted: LoopResult
  readonly refused: LoopResult
  /** Answers that were neither 0 nor 5031002 with Retry-After. */
  readonly others: readonly string[]
  /** Connections that broke before there was an answer. */
  readonly unanswered: number
  /** What the platform's process was late by: 99 of 100 times less than this, ms. */
  readonly lateMs: number
  /** What a second platform saw that is not busy, and what it was late by. */
  readonly bystander: FloodAnswers & { readonly lateMs: number }
  /** Turns of the service's event loop during the flood, as its own metric says, ms. */
  readonly turnMs: { readonly p50: number; readonly p99: number }
  /** Callbacks at half the sustainable rate, after the recovery; all of them answered 0. */
  readonly after: LoopResult
  /** Of all that was answered 0. */
  readonly received: Received
  /** The most that was resident, MB. */
  readonly peakMb: number
  /** How often the kernel killed the service for its memory; null where this machine lets nobody set a limit. */
  readonly kills: number | null
}

/**
 * Floods a fresh service with ten times what it can take, within the memory of its container from its beginning. The
 * service has one core, where there are two, and the platform and the providers the other: so the platform's own
 * slowness is nobody's answer.
 */
export async function flood(
  session: Session,
  channel: Channel,
  size: OverloadSize,
  env: Readonly<Record<string, string>> = {},
): Promise<OverloadReport> {
  const limit = createMemoryLimit(MEMORY_BYTES)
  const adminPort = await freePort()
  const start = () => session.startService({ env: { ...env, ADMIN_PORT: String(adminPort) } })
  const driver = await startChild('./flood-driver.ts')
  const service = await (limit === null ? start() : limit.during(start))
  const usage = watchUsage(service.pid)
  pin(service.pid, 0)
  for (const { pid } of [driver, ...Object.values(session.sinks)]) pin(pid, 1)
  const ca = session.certificate.cert
  const usual = await openClient({ port: service.port, ca, connections: USUAL, greeting: GREETING })
  try {
    const report = await floodService(session, channel, size, usual, driver, service.port, adminPort)
    return { ...report, peakMb: usage.read().peakMb, kills: limit?.kills() ?? null }
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

async function floodService(
  session: Session,
  channel: Channel,
  { connections, measureSeconds, floodSeconds, recoverSeconds }: OverloadSize,
  usual: Client,
  driver: Child,
  port: number,
  adminPort: number,
): Promise<Omit<OverloadReport, 'peakMb' | 'kills'>> {
  const make = channel === 'email' ? emailCallback : smsCallback
  const promised: [number, number][] = []
  const plain = (): Exchange => {
    const { number, body } = make(session.numbers.next())
    promised.push([number, number])
    return { request: buildPost(PATHS[channel], body), check: expectErrCodeZero }
  }
  await usual.sendAtRate(100, 1, plain)
  const { perSecond: sustainable } = await usual.saturate(measureSeconds, plain)
  const ca = session.certificate.cert
  const opening: OpenQuestion = { is: 'open', port, ca, connections }
  const bystander = await openBystander(session, channel, port, floodSeconds)
  await driver.ask(opening)
  const from = session.numbers.next()
  const asked: FloodQuestion = {
    is: 'flood',
    path: PATHS[channel],
    channel,
    perSecond: sustainable * 10,
    seconds: floodSeconds,
    from,
  }
  await readTurns(adminPort)
  const [found, seen] = await Promise.all([driver.ask<FloodAnswer>(asked), bystander.run()])
  const turnMs = await readTurns(adminPort)
  while (session.numbers.taken() < from + found.sent) session.numbers.next()
  for (const number of [...found.promised, ...seen.promised]) promised.push([number, number])
  await sleep(recoverSeconds * 1000)
  const after = await usual.sendAtRate(sustainable / 2, recoverSeconds, plain)
  const received = await awaitArrival(session, channel, promised)
  const answered = found.accepted.done + found.refused.done + found.others.length
  return {
    ...found,
    sustainable,
    offered: found.due / floodSeconds,
    sent: answered / floodSeconds,
    bystander: seen,
    turnMs,
    after,
    received,
  }
}

/** Posts now and then while the flood runs. Times count from when a callback was due; this process has nothing else to do. */
async function openBystander(session: Session, channel: Channel, port: number, seconds: number) {
  const { connections, perSecond } = BYSTANDER
  const from = session.numbers.next()
  for (let more = perSecond * seconds; more > 0; more -= 1) session.numbers.next()
  const tally = createFloodTally({ path: PATHS[channel], channel, from })
  const { cert: ca } = session.certificate
  const client = await openClient({ port, ca, connections, greeting: GREETING })
  return {
    async run(): Promise<OverloadReport['bystander']> {
      const late = monitorEventLoopDelay({ resolution: 1 })
      late.enable()
      await client.sendAtRate(perSecond, seconds, tally.next)
      late.disable()
      client.close()
      return { ...tally.read(seconds * 1000), lateMs: late.percentile(99) / 1e6 }
    },
  }
}

/** Reads how long the turns of the service's event loop took since this was read before, ms. */
async function readTurns(adminPort: number): Promise<OverloadReport['turnMs']> {
  const scrape = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
  const read = (percentile: string) =>
    1000 *
    Number(
      new RegExp(`^nodejs_eventloop_lag_${percentile}_seconds (\\S+)$`, 'm').exec(scrape)?.[1] ?? Number.NaN,
    )
  return { p50: read('p50'), p99: read('p99') }
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

/** What must hold whatever the machine has to do besides. */
export function checkReport(t: Test, report: OverloadReport): void {
  t.same(report.others, [], 'an answer is 0, or 5031002 with Retry-After')
  t.same(report.bystander.others, [], 'to a second platform, too')
  t.equal(report.unanswered, 0)
  t.match(report.received, { missing: 0, doubled: 0, wrong: 0 }, 'what was answered 0 arrived, once')
  t.ok(report.accepted.done > 0, `${report.accepted.done} accepted`)
  t.ok(report.refused.done > 0, `${report.refused.done} refused`)
  // What is resident includes pages of files, which the kernel takes back before it kills anything.
  if (report.kills === null) t.ok(report.peakMb * 1e6 < MEMORY_BYTES, `${report.peakMb} MB resident`)
  else t.equal(report.kills, 0, 'not killed for its memory')
}
