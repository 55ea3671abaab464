import t from 'tap'
import { createReceiverState } from '../../src/webhooks/dispatcher.ts'

const failed = (retryAfterMs?: number, reason = 'http-503') =>
  ({ is: 'failed', reason, retryAfterMs }) as const

function create() {
  let now = 1_000_000
  const clock = () => now
  const receiver = createReceiverState(clock, () => 0.5)
  /** @returns after how long it is asked again, ms. */
  const pauseAfter = (result: Parameters<typeof receiver.record>[0]): number => {
    receiver.record(result)
    const began = now
    while (!receiver.isDue()) now += 100
    return now - began
  }
  const wait = (ms: number): void => void (now += ms)
  return { receiver, pauseAfter, wait }
}

for (const [what, reason, rests] of [
  ['is down: 10 s at most', 'http-503', [2000, 4000, 8000, 8000, 8000, 8000, 8000]],
  ['refuses: a minute', 'http-401', [2000, 4000, 8000, 16_000, 32_000, 48_000, 48_000]],
] as const)
  t.test(`the rest of a receiver doubles that ${what}; a delivery ends it`, async t => {
    const { receiver, pauseAfter } = create()
    t.equal(receiver.isDue(), true)
    const pauses = Array.from({ length: 7 }, () => pauseAfter(failed(undefined, reason)))
    t.same(pauses, rests)
    t.same(receiver.status().failing, { since: 1_000_000, reason }, 'since the first of them')
    t.equal(pauseAfter({ is: 'delivered' }), 0)
    t.equal(receiver.status().failing, null)
    t.equal(pauseAfter(failed()), 2000)
  })

t.test('a receiver may ask for a longer pause, of an hour at most', async t => {
  const { pauseAfter } = create()
  t.equal(pauseAfter(failed(20_000)), 20_000)
  t.equal(pauseAfter(failed(500)), 4000, 'not for a shorter one')
  t.equal(pauseAfter(failed(86_400_000)), 3_600_000)
})

t.test('after 410 it is not asked any more', async t => {
  const { receiver, wait } = create()
  receiver.record({ is: 'gone', reason: 'http-410' })
  wait(86_400_000)
  t.equal(receiver.isDue(), false)
  t.match(receiver.status(), { isGone: true, failing: { reason: 'http-410' } })
})
