import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { watchUsage } from '../../bench/child.ts'
import {
  buildPost,
  type Client,
  type Exchange,
  expectErrCodeZero,
  openClient,
} from '../../bench/https-client.ts'
import { type LoopResult, summarize } from '../../bench/loop.ts'
import { emailCallback, smsCallback } from '../../bench/numbered-callbacks.ts'
import { PATHS } from '../../bench/service.ts'
import type { Channel, Session } from '../../bench/session.ts'
import type { Received } from '../../bench/sinks/tally.ts'
import { createMemoryLimit } from '../rigs/cgroup.ts'

/** What the image's compose file gives the service. */
export const MEMORY_BYTES = 512 * 1024 * 1024

/** Callbacks under way when the rate is measured. */
const USUAL = 64

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
  /** What the platform's own thread was late by: 99 of 100 times less than this, ms. */
  readonly lateMs: number
  /** Callbacks at half the sustainable rate, after the recovery; all of them answered 0. */
  readonly after: LoopResult
  /** Of all that was answered 0. */
  readonly received: Received
  /** The most that was resident, MB. */
  readonly peakMb: number
  /** How often the kernel killed the service for its memory; null where this machine lets nobody set a limit. */
  readonly kills: number | null
}

/** Floods a fresh service with ten times what it can take, within the memory of its container. */
export async function flood(
  session: Session,
  channel: Channel,
  size: OverloadSize,
  env: Readonly<Record<string, string>> = {},
): Promise<OverloadReport> {
  const limit = createMemoryLimit(MEMORY_BYTES)
  const start = () => session.startService({ env })
  const service = await (limit === null ? start() : limit.during(start))
  const usage = watchUsage(service.pid)
  const open = (connections: number): Promise<Client> =>
    openClient({ port: service.port, ca: session.certificate.cert, connections })
  const [usual, many] = [await open(USUAL), await open(size.connections)]
  try {
    const report = await floodService(session, channel, size, usual, many)
    return { ...report, peakMb: usage.read().peakMb, kills: limit?.kills() ?? null }
  } finally {
    usage.stop()
    usual.close()
    many.close()
    await service.stop()
    limit?.remove()
  }
}

async function floodService(
  session: Session,
  channel: Channel,
  { measureSeconds, floodSeconds, recoverSeconds }: OverloadSize,
  usual: Client,
  many: Client,
): Promise<Omit<OverloadReport, 'peakMb' | 'kills'>> {
  const make = channel === 'email' ? emailCallback : smsCallback
  const promised: [number, number][] = []
  const timesOf: Record<'accepted' | 'refused', number[]> = { accepted: [], refused: [] }
  const others: string[] = []
  const plain = (): Exchange => {
    const { number, body } = make(session.numbers.next())
    promised.push([number, number])
    return { request: buildPost(PATHS[channel], body), check: expectErrCodeZero }
  }
  const flooding = (): Exchange => {
    const { number, body } = make(session.numbers.next())
    const at = performance.now()
    return {
      request: buildPost(PATHS[channel], body),
      check(status, answer, head) {
        const tookMs = performance.now() - at
        if (status === 200 && answer.includes('"err_code":0,')) {
          timesOf.accepted.push(tookMs)
          promised.push([number, number])
        } else if (
          status === 503 &&
          answer.includes('"err_code":5031002,') &&
          /\r\nretry-after: \d/i.test(head)
        )
          timesOf.refused.push(tookMs)
        else others.push(`HTTP ${status} ${answer}`)
      },
    }
  }
  await usual.sendAtRate(100, 1, plain)
  const { perSecond: sustainable } = await usual.saturate(measureSeconds, plain)
  const late = monitorEventLoopDelay({ resolution: 1 })
  late.enable()
  const began = performance.now()
  const { due, unanswered } = await many.flood(sustainable * 10, floodSeconds, flooding)
  const floodMs = performance.now() - began
  late.disable()
  await sleep(recoverSeconds * 1000)
  const after = await usual.sendAtRate(sustainable / 2, recoverSeconds, plain)
  const received = await awaitArrival(session, channel, promised)
  return {
    sustainable,
    offered: due / floodSeconds,
    sent: (timesOf.accepted.length + timesOf.refused.length + others.length) / (floodMs / 1000),
    accepted: summarize(timesOf.accepted, floodMs),
    refused: summarize(timesOf.refused, floodMs),
    others,
    unanswered,
    lateMs: late.percentile(99) / 1e6,
    after,
    received,
  }
}

async function awaitArrival(
  session: Session,
  channel: Channel,
  asked: readonly [number, number][],
): Promise<Received> {
  for (const end = performance.now() + 60_000; ; await sleep(100)) {
    const received = await session.sinks[channel].ask<Received>({ is: 'received', asked })
    if (received.missing === 0 || performance.now() > end) return received
  }
}

/** What must hold whatever the machine has to do besides. */
export function checkReport(t: Test, report: OverloadReport): void {
  t.same(report.others, [], 'an answer is 0, or 5031002 with Retry-After')
  t.equal(report.unanswered, 0)
  t.match(report.received, { missing: 0, doubled: 0, wrong: 0 }, 'what was answered 0 arrived, once')
  t.ok(report.accepted.done > 0, `${report.accepted.done} accepted`)
  t.ok(report.refused.done > 0, `${report.refused.done} refused`)
  // What is resident includes pages of files, which the kernel takes back before it kills anything.
  if (report.kills === null) t.ok(report.peakMb * 1e6 < MEMORY_BYTES, `${report.peakMb} MB resident`)
  else t.equal(report.kills, 0, 'not killed for its memory')
}
