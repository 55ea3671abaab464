import t from 'tap'
import { createSignatureStatistics, SAFE_RUN, type SignatureNews } from '../../src/callback/authenticate.ts'

const HOUR = 60 * 60 * 1000

function open(channels: readonly ('email' | 'sms')[] = ['email', 'sms']) {
  const clock = { now: 0 }
  const news: SignatureNews[] = []
  const made = createSignatureStatistics(
    channels,
    () => clock.now,
    each => news.push(each),
  )
  /** So many right ones, spread evenly over so many hours from now. */
  const run = (channel: 'email' | 'sms', posts: number, hours: number) => {
    const from = clock.now
    for (let at = 0; at < posts; at += 1) {
      clock.now = from + (hours * HOUR * at) / (posts - 1)
      made.count(channel, 'right')
    }
    clock.now = from
  }
  return { ...made, clock, news, run }
}

t.test('required is safe after enough right ones in a row, over long enough, on every channel', async t => {
  const counter = open()
  counter.run('email', 49, 7)
  t.notOk(counter.requiredIsSafe('email'), 'too few')
  counter.clock.now = 7 * HOUR
  counter.count('email', 'right')
  t.ok(counter.requiredIsSafe('email'))
  t.same(counter.news, [], 'SMS have not been seen')
  counter.run('sms', 5000, 5)
  t.notOk(counter.requiredIsSafe('sms'), 'a burst says little')
  counter.run('sms', 2, 6)
  t.ok(counter.requiredIsSafe('sms'))
  t.same(counter.news, [{ is: 'required-is-safe' }])
  counter.clock.now = 20 * HOUR
  counter.run('sms', 50, 1)
  t.equal(counter.news.length, 1, 'said once')
})

t.test('one that would be refused begins the run anew, and is told when it had been safe', async t => {
  for (const came of ['absent', 'wrong', 'stale'] as const) {
    const counter = open(['email'])
    counter.run('email', 50, 6)
    t.same(counter.news, [{ is: 'required-is-safe' }])
    counter.count('email', came)
    t.notOk(counter.requiredIsSafe('email'))
    t.same(counter.news[1], { is: 'no-longer-safe', channel: 'email', came })
    counter.run('email', 50, 6)
    t.same(counter.news[2], { is: 'required-is-safe' })
  }
})

t.test('a channel that is never signed is told once', async t => {
  const counter = open()
  for (let at = 0; at < 500; at += 1) counter.count('sms', 'absent')
  t.same(counter.news, [{ is: 'unsigned', channel: 'sms' }])
  for (const came of ['right', 'wrong', 'stale'] as const) {
    const signed = open()
    signed.count('sms', came)
    for (let at = 0; at < 500; at += 1) signed.count('sms', 'absent')
    t.same(signed.news, [], `${came} once: it is signed at times`)
  }
})

t.test('the run that is asked for is one of a working day', async t => {
  t.ok(SAFE_RUN.posts >= 50)
  t.ok(SAFE_RUN.ms >= 6 * HOUR)
})
