import t from 'tap'
import { createSubscription } from '../../src/alerts/subscription.ts'

const END = { is: 'unreachable', why: 'ECONNREFUSED', logInAgain: false } as const

t.test('the time that it is away counts over all the tries that fail meanwhile', t => {
  let now = 1000
  const subscription = createSubscription(() => now)
  subscription.began()
  now += 5000
  t.same(subscription.standing(), { subscribed: false, forMs: 5000, lastEnd: null, refused: [] })
  subscription.ended(END)
  now += 5000
  subscription.ended({ ...END, why: 'ETIMEDOUT' })
  t.match(subscription.standing(), { subscribed: false, forMs: 10_000, lastEnd: { why: 'ETIMEDOUT' } })
  subscription.subscribed()
  now += 700
  t.match(subscription.standing(), { subscribed: true, forMs: 700, lastEnd: { why: 'ETIMEDOUT' } })
  subscription.ended(END)
  now += 300
  t.match(subscription.standing(), { subscribed: false, forMs: 300 })
  subscription.began()
  now += 100
  t.same(
    subscription.standing(),
    { subscribed: false, forMs: 100, lastEnd: null, refused: [] },
    'another process watched meanwhile: its troubles are not this one’s',
  )
  t.end()
})

t.test('the topics refused are those of the last subscription', t => {
  const subscription = createSubscription(() => 0)
  subscription.began()
  subscription.refused('/a', 'refused: HTTP 404')
  subscription.ended(END)
  t.same(subscription.standing().refused, [], 'that one came to nothing')
  subscription.refused('/b', 'refused: HTTP 404')
  subscription.subscribed()
  t.same(subscription.standing().refused, [{ topic: '/b', why: 'refused: HTTP 404' }])
  subscription.ended(END)
  t.equal(subscription.standing().refused.length, 1, 'known until the next one tells')
  subscription.subscribed()
  t.same(subscription.standing().refused, [])
  t.end()
})
