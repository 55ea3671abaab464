import t from 'tap'
import {
  createCredential,
  type GrantedToken,
  lifetimeMs,
  type PlatformResult,
} from '../../src/devices/platform-api.ts'
import { quote } from '../../src/language/sentence.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

t.test(
  'the life is read as milliseconds or seconds, whichever makes sense, the shorter if both do',
  async t => {
    t.equal(lifetimeMs(7200), 2 * 60 * MINUTE, 'two hours in seconds')
    t.equal(lifetimeMs(7_200_000), 2 * 60 * MINUTE, 'two hours in ms, or 83 days in seconds: the shorter')
    t.equal(lifetimeMs(2_592_000_000), 30 * DAY, 'thirty days in milliseconds')
    t.equal(lifetimeMs(599_999), 599_999_000, 'just under ten minutes in milliseconds: seconds')
    t.equal(lifetimeMs(600_000), 10 * MINUTE)
    for (const nonsense of [null, 0, -1, 30, 59, 1e12, Number.NaN])
      t.equal(lifetimeMs(nonsense), Number.POSITIVE_INFINITY, String(nonsense))
  },
)

t.test('a token of unknown lifetime is used until it is refused, and a failed login is told', async t => {
  let now = 0
  const failure = { is: 'unreachable', message: quote('ECONNREFUSED') } as const
  const answers: PlatformResult<GrantedToken>[] = [
    { ok: true, value: { accessToken: 't1', expireIn: 5 } },
    { ok: false, failure },
    { ok: true, value: { accessToken: 't2', expireIn: 5 } },
  ]
  const credential = createCredential(
    async () => answers.shift() ?? { ok: false, failure },
    () => now,
  )
  t.match(await credential.getToken(), { token: 't1' })
  now += 365 * DAY
  t.match(await credential.getToken(), { token: 't1' })
  credential.refused('t1')
  t.same(await Promise.all([credential.getToken(), credential.getToken()]), [failure, failure])
  t.match(await credential.getToken(), { token: 't2' })
  credential.refused('t1')
  t.match(await credential.getToken(), { token: 't2' }, 'a late refusal of the old one changes nothing')
})
