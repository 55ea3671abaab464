import { readFileSync } from 'node:fs'
import t from 'tap'
import type { ServiceEvent } from '../../src/events/events.ts'
import type { QueuedEvent } from '../../src/outbox/outbox.ts'
import { createDispatcher, type DispatcherOptions } from '../../src/webhooks/dispatcher.ts'
import { batchOf, type PostResult } from '../../src/webhooks/post.ts'
import { createQueue } from './queue.ts'

/** A dispatcher of these events; `told`: how many each POST told. */
function open(of: readonly QueuedEvent[], more: Partial<DispatcherOptions> = {}) {
  const { queue, drops, reads, rows } = createQueue(of, 2)
  const now = () => NOW
  const told: number[] = []
  const counts: number[] = []
  const dispatcher = createDispatcher({
    events: queue,
    post: async () => ({ is: 'delivered' }),
    random: () => 0.5,
    keys: [Buffer.from('a key')],
    mostWaiting: 1000,
    signal: new AbortController().signal,
    clock: { now },
    wall: now,
    emit: event => {
      if (event.type === 'webhooks-posted') told.push(event.events)
      else if (event.type === 'webhooks-dropped') counts.push(event.count)
    },
    ...more,
  })
  return { dispatcher, told, drops, reads, counts, rows }
}

const NOW = Date.UTC(2026, 10, 20)
const DAY = 24 * 3_600_000

const providerUp = (seq: number): QueuedEvent => ({
  seq,
  type: 'provider.up',
  at: NOW - DAY,
  message: null,
  data: { provider: `p${seq}` },
})

t.test('after a full batch there may be more to post at once', async t => {
  const { dispatcher, told, rows } = open(Array.from({ length: 150 }, (_, seq) => providerUp(seq)))
  t.equal(await dispatcher.dispatchNext(), true)
  t.equal(await dispatcher.dispatchNext(), false)
  t.same(told, [100, 50])
  t.equal(rows().length, 0)
})

t.test('when all messages of a batch have been pruned, its events go without a POST', async t => {
  const pruned = [1, 2, 3].map((seq): QueuedEvent => ({ ...providerUp(seq), type: 'message.ended' }))
  const { dispatcher, told, rows } = open(pruned)
  t.equal(await dispatcher.dispatchNext(), false)
  t.same(told, [])
  t.same(rows(), [])
})

t.test('what could not be told for three days is dropped, all of it, and said once', async t => {
  const at = (days: number, seq: number) => ({ ...providerUp(seq), at: NOW - days * DAY })
  const { dispatcher, told, drops, counts, rows } = open([5, 4, 3.1, 3, 1].map(at))
  await dispatcher.dispatchNext()
  t.same(counts, [3])
  t.same(drops[0], [1000, NOW - 3 * DAY])
  t.same([told, rows()], [[5], []], 'what was read before is told all the same')
  const young = open([3, 1].map(at))
  await young.dispatcher.dispatchNext()
  t.same(young.drops, [], 'nothing is old')
  const full = open([1, 1].map(at), { mostWaiting: 2 })
  await full.dispatcher.dispatchNext()
  t.same(full.drops, [], 'nor too many')
})

t.test('a POST is signed with the time of the wall clock, and a failed one is sent again alone', async t => {
  const posts: (readonly [time: string | undefined, body: string])[] = []
  let now = NOW
  const { dispatcher, reads, rows } = open([1, 2, 3].map(providerUp), {
    clock: { now: () => now },
    wall: () => NOW + 5999,
    async post(headers, body) {
      posts.push([headers['webhook-timestamp'], body])
      return posts.length < 4 ? { is: 'failed', reason: 'http-500' } : { is: 'delivered' }
    },
  })
  await dispatcher.dispatchNext()
  dispatcher.forgetFailed()
  // Its events are dropped meanwhile.
  for (now += 3 * DAY; now < NOW + 12 * DAY; now += 3 * DAY) await dispatcher.dispatchNext()
  t.equal(posts[0]?.[0], String(NOW / 1000 + 5))
  t.match(posts[0]?.[1], '"timestamp":"2026-11-20T00:00:00.000Z","data"')
  t.match(posts[1]?.[1], '"timestamp":"2026-11-23T00:00:00.000Z","data"', 'unless it was forgotten')
  t.same(posts.slice(2), [posts[1], posts[1]])
  t.same(reads, [100, 100, 1, 1], 'of the others it is only looked how long they wait')
  t.same(rows(), [])
})

const failed = (retryAfterMs?: number, reason = 'http-503') =>
  ({ is: 'failed', reason, retryAfterMs }) as const
const [DOWN, REFUSES] = [failed(), failed(undefined, 'http-451')]
const DELIVERED = { is: 'delivered' } as const

for (const [what, answers, restsMs] of [
  ['it is down: 10 s at most', Array<PostResult>(5).fill(DOWN), [2000, 4000, 8000, 8000, 8000]],
  [
    'it refuses: a minute at most',
    Array<PostResult>(7).fill(REFUSES),
    [2000, 4000, 8000, 16_000, 32_000, 48_000, 48_000],
  ],
  ['it took one in between', [DOWN, DOWN, DELIVERED, DOWN], [2000, 4000, 0, 2000]],
  ['it asks for a longer pause', [failed(20_000)], [20_000]],
  ['it asks for a shorter one', [failed(1000)], [2000]],
  ['it asks for more than an hour', [failed(86_400_000)], [3_600_000]],
] as const satisfies readonly (readonly [string, readonly PostResult[], readonly number[]])[])
  t.test(`how long a receiver rests when ${what}`, async t => {
    let now = NOW
    const left: PostResult[] = [...answers]
    const postedAt: number[] = []
    const { dispatcher } = open(
      Array.from({ length: 500 }, (_, seq) => providerUp(seq)),
      {
        clock: { now: () => now },
        async post() {
          postedAt.push(now)
          return left.shift() ?? DELIVERED
        },
      },
    )
    await dispatcher.dispatchNext()
    t.match(dispatcher.status().failing, { since: NOW, reason: /^http-/ })
    for (; postedAt.length <= answers.length; now += 1000) while (await dispatcher.dispatchNext());
    t.same(
      restsMs.map((_, at) => (postedAt[at + 1] ?? 0) - (postedAt[at] ?? 0)),
      restsMs,
    )
    t.equal(dispatcher.status().failing, null)
  })

t.test('after 410 a receiver is not asked any more', async t => {
  let now = NOW
  const emitted: ServiceEvent[] = []
  const { dispatcher } = open([1, 2, 3].map(providerUp), {
    emit: event => void emitted.push(event),
    clock: { now: () => now },
    post: async () => ({ is: 'gone', reason: 'http-410' }),
  })
  t.same(dispatcher.status(), { isGone: false, failing: null, waiting: 0, oldestAt: null })
  await dispatcher.dispatchNext()
  now += DAY
  await dispatcher.dispatchNext()
  const failing = { since: NOW, reason: 'http-410' }
  t.same(dispatcher.status(), { isGone: true, failing, waiting: 3, oldestAt: NOW - DAY })
  t.same(emitted, [{ type: 'webhooks-posted', result: 'gone', events: 3, reason: 'http-410' }])
})

t.test('a POST tells of messages by whom they were sent, and no two events have one id', async t => {
  const record = readFileSync(new URL('../fixtures/webhook.txt', import.meta.url), 'utf8')
  const [given = '', told] = record.split('\n\n')
  const events = JSON.parse(given) as readonly QueuedEvent[]
  const { id, body, ...more } = batchOf(events, NOW)
  t.same(more, { seqs: [1, 2, 3, 4, 5, 6, 7], told: 6 })
  t.match(id, /^batch-[0-9a-f]{32}$/)
  t.equal(batchOf(events, NOW + 1).id, id, 'the same for the same events')
  t.equal(`${body.replaceAll('{"id"', '\n{"id"')}\n`, told)
})
