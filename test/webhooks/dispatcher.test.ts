import t from 'tap'
import type { EventQueue, QueuedEvent } from '../../src/outbox/outbox.ts'
import { createDispatcher, createReceiverState } from '../../src/webhooks/dispatcher.ts'

t.test('after a full batch there may be more to post at once', async t => {
  let rows = Array.from(
    { length: 150 },
    (_, seq): QueuedEvent => ({
      seq,
      type: 'provider.up',
      at: 0,
      message: null,
      data: { provider: `p${seq}` },
    }),
  )
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
  t.equal(await dispatcher.dispatchNext(), true)
  t.equal(await dispatcher.dispatchNext(), false)
  t.same(told, [100, 50])
  t.equal(rows.length, 0)
})
