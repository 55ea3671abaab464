import t from 'tap'
import { createSubscriptionTracker } from '../../src/devices/ddq-client.ts'
import { quote } from '../../src/language/sentence.ts'

const END = { is: 'unreachable', why: quote('ECONNREFUSED') } as const

t.test('the time without a subscription counts over all the tries that fail meanwhile', async t => {
  let now = 1000
  const subscription = createSubscriptionTracker(() => now)
  subscription.recordStart()
  now += 5000
  t.same(subscription.status(), { subscribed: false, forMs: 5000, lastEnd: null, refused: [] })
  subscription.recordEnd(END)
  now += 5000
  subscription.recordEnd({ ...END, why: quote('ETIMEDOUT') })
  const lastEnd = { why: { text: 'ETIMEDOUT' } }
  t.match(subscription.status(), { subscribed: false, forMs: 10_000, lastEnd })
  subscription.recordSubscription()
  now += 700
  t.match(subscription.status(), { subscribed: true, forMs: 700, lastEnd })
  subscription.recordEnd(END)
  now += 300
  t.match(subscription.status(), { subscribed: false, forMs: 300 })
  subscription.recordStart()
  now += 100
  // Another process watched meanwhile: its troubles are not this one's.
  t.same(subscription.status(), { subscribed: false, forMs: 100, lastEnd: null, refused: [] })
})

t.test('the topics refused are those of the last subscription', async t => {
  const subscription = createSubscriptionTracker(() => 0)
  subscription.recordStart()
  subscription.recordRefusal('/a', quote('refused: HTTP 404'))
  subscription.recordEnd(END)
  t.same(subscription.status().refused, [], 'that one came to nothing')
  subscription.recordRefusal('/b', quote('refused: HTTP 404'))
  subscription.recordSubscription()
  t.same(subscription.status().refused, [{ topic: '/b', why: quote('refused: HTTP 404') }])
  subscription.recordEnd(END)
  t.equal(subscription.status().refused.length, 1, 'known until the next one tells')
  subscription.recordSubscription()
  t.same(subscription.status().refused, [])
})
