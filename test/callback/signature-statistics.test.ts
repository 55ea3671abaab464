import t from 'tap'
import {
  createSignatureWatch,
  SAFE_RUN,
  type SignatureNews,
} from '../../src/callback/signature-statistics.ts'

const HOUR = 60 * 60 * 1000

function watch(channels: readonly ('email' | 'sms')[] = ['email', 'sms']) {
  const clock = { now: 0 }
  const news: SignatureNews[] = []
  const made = createSignatureWatch(
    channels,
    () => clock.now,
    each => news.push(each),
  )
  /** So many right ones, spread evenly over so many hours from now. */
  const run = (channel: 'email' | 'sms', posts: number, hours: number) => {
    const from = clock.now
    for (let at = 0; at < posts; at += 1) {
      clock.now = from + (hours * HOUR * at) / (posts - 1)
      made.saw(channel, 'right')
    }
    clock.now = from
  }
  return { ...made, clock, news, run }
}

t.test('required is safe after enough right ones in a row, over long enough, on every channel', async t => {
  const w = watch()
  w.run('email', 49, 7)
  t.notOk(w.statistics('email').requiredIsSafe, 'too few')
  w.clock.now = 7 * HOUR
  w.saw('email', 'right')
  t.match(w.statistics('email'), { right: 50, run: 50, runMs: 7 * HOUR, requiredIsSafe: true })
  t.same(w.news, [], 'SMS have not been seen')
  w.run('sms', 5000, 5)
  t.notOk(w.statistics('sms').requiredIsSafe, 'a burst says little')
  w.run('sms', 2, 6)
  t.ok(w.statistics('sms').requiredIsSafe)
  t.same(w.news, [{ is: 'required-is-safe' }])
  w.clock.now = 20 * HOUR
  w.run('sms', 50, 1)
  t.equal(w.news.length, 1, 'said once')
})

t.test('one that would be refused begins the run anew, and is told when it had been safe', async t => {
  for (const came of ['absent', 'wrong', 'stale'] as const) {
    const w = watch(['email'])
    w.run('email', 50, 6)
    t.same(w.news, [{ is: 'required-is-safe' }])
    w.saw('email', came)
    t.match(w.statistics('email'), { right: 50, [came]: 1, run: 0, runMs: 0, requiredIsSafe: false })
    t.same(w.news[1], { is: 'no-longer-safe', channel: 'email', came })
    w.run('email', 50, 6)
    t.same(w.news[2], { is: 'required-is-safe' })
  }
})

t.test('a channel that is never signed is told once', async t => {
  const w = watch()
  for (let at = 0; at < 500; at += 1) w.saw('sms', 'absent')
  t.same(w.news, [{ is: 'unsigned', channel: 'sms' }])
  t.equal(w.statistics('sms').absent, 500)
})

t.test('the run that is asked for is one of a working day', async t => {
  t.ok(SAFE_RUN.posts >= 50)
  t.ok(SAFE_RUN.ms >= 6 * HOUR)
})
