import t, { type Test } from 'tap'
import type { EventQueue, QueuedEvent } from '../../src/outbox/outbox.ts'
import { createDispatcher, createReceiverState } from '../../src/webhooks/dispatcher.ts'

/** A dispatcher of these events; `told`: how many each POST told. */
function open(t: Test, of: readonly QueuedEvent[]) {
  let rows = of
  const events: EventQueue = {
    addEvent: async () => void t.fail('nothing is added'),
    readEvents: async limit => ({ events: rows.slice(0, limit), waiting: rows.length }),
    async removeEvents(seqs) {
      rows = rows.filter(({ seq }) => !seqs.includes(seq))
    },
    dropEvents: async () => 0,
  }
  const now = () => 1000
  const told: number[] = []
  const dispatcher = createDispatcher({
    events,
    poster: { post: async () => ({ is: 'delivered' }) },
    receiver: createReceiverState(now, Math.random),
    keys: [Buffer.from('a key')],
    mostWaiting: 1000,
    signal: new AbortController().signal,
    clock: { now },
    wall: now,
    emit: event => void (event.type === 'webhooks-posted' && told.push(event.events)),
  })
  return { dispatcher, told, rows: () => rows }
}

const providerUp = (seq: number): QueuedEvent => ({
  seq,
  type: 'provider.up',
  at: 0,
  message: null,
  data: { provider: `p${seq}` },
})

t.test('after a full batch there may be more to post at once', async t => {
  const { dispatcher, told, rows } = open(
    t,
    Array.from({ length: 150 }, (_, seq) => providerUp(seq)),
  )
  t.equal(await dispatcher.dispatchNext(), true)
  t.equal(await dispatcher.dispatchNext(), false)
  t.same(told, [100, 50])
  t.equal(rows().length, 0)
})

t.test('when all messages of a batch have been pruned, its events go without a POST', async t => {
  const pruned = Array.from(
    { length: 3 },
    (_, seq): QueuedEvent => ({ ...providerUp(seq), type: 'message.ended' }),
  )
  const { dispatcher, told, rows } = open(t, pruned)
  t.equal(await dispatcher.dispatchNext(), false)
  t.same(told, [])
  t.same(rows(), [])
})
