import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createStoreKeys } from '../src/outbox/encryption.ts'
import type { Acceptance, Lease, Outbox } from '../src/outbox/outbox.ts'
import { createPostgresOutbox } from '../src/outbox/postgres/outbox.ts'
import { createSqliteOutbox } from '../src/outbox/sqlite/outbox.ts'
import { createClock } from '../src/runtime/clock.ts'
import { noPostgres, openPostgres } from '../test/rigs/postgres.ts'
import { type LoopResult, runLoop } from './loop.ts'

/**
 * Messages a second that an outbox accepts and settles, every commit on disk: each message is a call of its own, as a
 * callback is, and CALLBACKS of them are under way at any time.
 *
 *     node bench/outbox.ts [sqlite|postgres|both] [backlog ...]
 */
const CALLBACKS = 200
const SECONDS = 4
const BACKLOGS = [0, 10_000, 1_000_000]

const clock = createClock()
const storeKeys = createStoreKeys(randomBytes(32))
let made = 0

/** Makes a code by e-mail as a callback does: each message is different, and is charged to its quotas. */
function message(lease?: Lease): Acceptance {
  made += 1
  const recipient = `person.${made}@example.com`
  const now = clock.now()
  return {
    message: {
      id: randomBytes(16).toString('hex'),
      channel: 'email',
      kind: 'activation-code',
      purpose: 'code',
      recipient,
      destination: storeKeys.destinationHash('email', 'example.com'),
      masked: 'p***@example.com',
      content: {
        params: { code: '135790', hour: '1' },
        subject: 'Your activation code',
        plain: 'Your activation code is 135790. It is valid for an hour.',
        words: 'ours',
      },
      arrivedAt: now,
      expiresAt: now + 3_600_000,
    },
    dedupeKey: storeKeys.dedupeKey(['email', 'corp', '5', '135790', recipient]),
    groupKey: storeKeys.groupKey('email', recipient, 'activation-code', ''),
    recipientHash: storeKeys.recipientHash('email', recipient),
    charges: [
      {
        quota: 'recipient-10m',
        bucket: storeKeys.bucketHash('email', recipient),
        windowMs: 600_000,
        limit: 5,
      },
      {
        quota: 'recipient-day',
        bucket: storeKeys.bucketHash('email', recipient),
        windowMs: 86_400_000,
        limit: 20,
      },
    ],
    lease,
  }
}

/** Fills the store with messages that wait. */
async function fill(outbox: Outbox, count: number): Promise<void> {
  for (let done = 0; done < count; done += 5000) {
    const calls = Array.from({ length: Math.min(50, (count - done) / 100) }, () =>
      outbox.accept(Array.from({ length: 100 }, () => message())),
    )
    await Promise.all(calls)
  }
}

/** Accepts a message with its lease and settles it, as one that never leaves memory. */
async function handOver(outbox: Outbox): Promise<void> {
  const lease = { token: randomBytes(12).toString('hex'), until: clock.now() + 60_000 }
  const given = message(lease)
  await outbox.accept([given])
  await outbox.settle(given.message.id, lease, {
    to: 'final',
    state: 'sent',
    answer: null,
    records: [
      {
        at: clock.now(),
        tookMs: 3,
        provider: 'smtp',
        outcome: 'sent',
        code: '',
        reply: '250 2.0.0 Ok: queued as 4XyZ',
      },
    ],
  })
}

/** @returns the loop's result, with the CPU time of this process for one message, the store's thread included. */
async function measure(
  seconds: number,
  once: () => Promise<void>,
): Promise<LoopResult & { readonly cpuUs: number }> {
  const cpu = process.cpuUsage()
  const result = await runLoop(CALLBACKS, seconds, once)
  const { user, system } = process.cpuUsage(cpu)
  return { ...result, cpuUs: (user + system) / result.done }
}

/** Claims and settles what waits, a hundred at a time. @returns messages a second. */
async function drain(outbox: Outbox, seconds: number): Promise<number> {
  const began = performance.now()
  let sent = 0
  while (performance.now() - began < seconds * 1000) {
    const { messages } = await outbox.claim('email', 100, 60_000)
    if (messages.length === 0) break
    await Promise.all(
      messages.map(({ id, lease }) => outbox.settle(id, lease, { to: 'final', state: 'sent', answer: null })),
    )
    sent += messages.length
  }
  return sent / ((performance.now() - began) / 1000)
}

async function benchOutbox(
  name: string,
  open: () => Promise<Outbox>,
  backlogs: readonly number[],
  print: (line: string) => void,
): Promise<void> {
  const outbox = await open()
  let waiting = 0
  for (const backlog of backlogs) {
    const began = performance.now()
    await fill(outbox, backlog - waiting)
    const filled = Math.round(backlog - waiting) / ((performance.now() - began) / 1000)
    waiting = Math.max(waiting, backlog)
    await measure(1, () => handOver(outbox))
    const { perSecond, p99Ms, cpuUs } = await measure(SECONDS, () => handOver(outbox))
    const parts = [
      `${name}  backlog ${backlog}`,
      `accepted and settled ${Math.round(perSecond)}/s`,
      `p99 ${p99Ms.toFixed(1)} ms`,
      `${Math.round(cpuUs)} us of CPU`,
    ]
    if (backlog > 0) {
      const drained = await drain(outbox, 2)
      parts.push(`filled ${Math.round(filled)}/s`, `claimed and settled ${Math.round(drained)}/s`)
    }
    parts.push(`memory ${Math.round(process.memoryUsage.rss() / 1e6)} MB`)
    print(parts.join('  '))
  }
  await outbox.close()
}

async function benchSqlite(backlogs: readonly number[], print: (line: string) => void): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'outbox-bench-'))
  const path = join(directory, 'outbox.db')
  const open = () => createSqliteOutbox({ path, clock, storeKeys, maxBacklog: 10_000_000, retentionDays: 30 })
  try {
    await benchOutbox('sqlite', open, backlogs, print)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** Against a Postgres of its own on this machine, which shares its cores with it. */
async function benchPostgres(backlogs: readonly number[], print: (line: string) => void): Promise<void> {
  if (noPostgres !== false) {
    print(`postgres  ${noPostgres}`)
    return
  }
  const rig = await openPostgres({ durable: true })
  try {
    const url = await rig.url()
    const open = () =>
      createPostgresOutbox({
        url,
        clock,
        storeKeys,
        maxBacklog: 10_000_000,
        retentionDays: 30,
        statementTimeoutMs: 800,
      })
    await benchOutbox('postgres', open, backlogs, print)
  } finally {
    await rig.close()
  }
}

if (import.meta.main) {
  const [which = 'both', ...asked] = process.argv.slice(2)
  const backlogs = asked.length > 0 ? asked.map(Number) : BACKLOGS
  const print = (line: string) => void process.stdout.write(`${line}\n`)
  if (which !== 'postgres') await benchSqlite(backlogs, print)
  if (which !== 'sqlite') await benchPostgres(backlogs, print)
}
