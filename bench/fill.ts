import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import { loadConfig } from '../src/config/config.ts'
import type { Acceptance, Lease } from '../src/outbox/outbox.ts'
import { createClock } from '../src/runtime/clock.ts'
import { openOutbox, openStoreKeys } from '../src/service/factories.ts'
import { answerParent } from './child.ts'

/**
 * Fills the store of a service that is not running with messages that had one attempt each and wait an hour for the
 * next, as after an outage of the mail server; `due`: they wait for nothing. Takes the service's own settings from its
 * environment.
 */
const clock = createClock()
const config = loadConfig({ env: process.env, readFile: path => readFileSync(path, 'utf8') })
const storeKeys = await openStoreKeys(config)
const outbox = await openOutbox(config, clock, storeKeys, pino({ level: 'silent' }))
const AT_ONCE = 1_000
const HOUR_MS = 3_600_000

answerParent(async question => {
  const rows = question['rows'] as number
  const waitMs = question['due'] === true ? 0 : HOUR_MS
  const began = performance.now()
  for (let done = 0; done < rows; done += AT_ONCE) await wait(done, Math.min(AT_ONCE, rows - done), waitMs)
  await outbox.close()
  return (performance.now() - began) / 1000
})

async function wait(first: number, count: number, waitMs: number): Promise<void> {
  const claims = Array.from({ length: count }, (_, i) => {
    const lease = { token: randomBytes(12).toString('hex'), until: clock.now() + 60_000 }
    return { lease, given: message(first + i, lease) }
  })
  await outbox.accept(claims.map(({ given }) => given))
  const record = {
    at: clock.now(),
    tookMs: 5000,
    provider: 'smtp',
    outcome: 'retry',
    code: '421',
    reply: '421 4.3.2 closing',
  }
  const dueAt = clock.now() + waitMs
  await Promise.all(
    claims.map(async ({ given, lease }) =>
      outbox.settle(given.message.id, lease, { to: 'queued', dueAt, records: [record] }),
    ),
  )
}

function message(row: number, lease: Lease): Acceptance {
  const recipient = `waiting.${row}@bench.example.com`
  const url = `https://www.bench.example.com/activate/${row}`
  const now = clock.now()
  return {
    message: {
      id: randomBytes(16).toString('hex'),
      channel: 'email',
      kind: 'registration-activation',
      purpose: 'link',
      recipient,
      destination: storeKeys.destinationHash('email', 'bench.example.com'),
      masked: 'w***@bench.example.com',
      content: { params: { url, hour: '24' }, subject: 'Activate your account', words: 'ours' },
      arrivedAt: now,
      expiresAt: now + 24 * HOUR_MS,
    },
    dedupeKey: storeKeys.dedupeKey(['email', 'bench-corp', '1', url, recipient]),
    recipientHash: storeKeys.recipientHash('email', recipient),
    charges: [
      {
        quota: 'recipient-10m',
        bucket: storeKeys.bucketHash('email', recipient),
        windowMs: 600_000,
        limit: 5,
      },
    ],
    lease,
  }
}
