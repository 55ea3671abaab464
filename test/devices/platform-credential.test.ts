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
const down: PlatformResult<GrantedToken> = {
  ok: false,
  failure: { is: 'unreachable', message: quote('ECONNREFUSED') },
}

/** Grants t1, t2, … and counts. */
function door(expireIn: number | null, answers: PlatformResult<GrantedToken>[] = []) {
  let logins = 0
  let now = 0
  const login = async (): Promise<PlatformResult<GrantedToken>> => {
    logins += 1
    const number = logins
    await new Promise(resolve => setImmediate(resolve))
    return answers.shift() ?? { ok: true, value: { accessToken: `t${number}`, expireIn } }
  }
  const credential = createCredential(login, () => now)
  return { credential, logins: () => logins, pass: (ms: number) => void (now += ms) }
}

t.test(
  'the life is read as milliseconds or seconds, whichever makes sense, the shorter if both do',
  async t => {
    t.equal(lifetimeMs(7200), 2 * 60 * MINUTE, 'two hours in seconds')
    t.equal(lifetimeMs(7_200_000), 2 * 60 * MINUTE, 'two hours in ms, or 83 days in seconds: the shorter')
    t.equal(lifetimeMs(2_592_000_000), 30 * DAY, 'thirty days in milliseconds')
    t.equal(lifetimeMs(599_999), 599_999_000, 'just under ten minutes in milliseconds: seconds')
    t.equal(lifetimeMs(600_000), 10 * MINUTE)
    for (const nonsense of [null, 0, -1, 30, 59, 1e12, Number.NaN])
      t.equal(lifetimeMs(nonsense), null, String(nonsense))
  },
)

t.test('however many ask at once, there is one login', async t => {
  const { credential, logins } = door(7200)
  const all = await Promise.all(Array.from({ length: 100 }, () => credential.token()))
  t.equal(logins(), 1)
  t.ok(all.every(each => each.ok && each.value === 't1'))
  await credential.token()
  t.equal(logins(), 1, 'and none while it is good')
})

t.test('a refused token is replaced, once, however many refuse it', async t => {
  const { credential, logins } = door(7200)
  await credential.token()
  for (let times = 0; times < 10; times += 1) credential.refused('t1')
  const second = { ok: true, value: 't2' }
  t.same(await Promise.all([credential.token(), credential.token()]), [second, second])
  credential.refused('t1')
  t.same(await credential.token(), second, 'a late refusal of the old one changes nothing')
  t.equal(logins(), 2)
})

t.test('a new token is fetched before the old one expires', async t => {
  const { credential, pass } = door(7200)
  await credential.token()
  pass(107 * MINUTE)
  t.same(await credential.token(), { ok: true, value: 't1' })
  pass(2 * MINUTE)
  t.same(await credential.token(), { ok: true, value: 't2' })
})

t.test('a token of unknown lifetime is used until it is refused', async t => {
  const { credential, pass, logins } = door(5)
  await credential.token()
  pass(365 * DAY)
  t.same(await credential.token(), { ok: true, value: 't1' })
  t.equal(logins(), 1)
})

t.test('an early login that fails leaves the old token in use for a while', async t => {
  const granted = { ok: true, value: { accessToken: 'a', expireIn: 7200 } } as const
  const { credential, pass, logins } = door(7200, [granted, down])
  await credential.token()
  pass(119 * MINUTE)
  t.same(await credential.token(), { ok: true, value: 'a' })
  t.same(await credential.token(), { ok: true, value: 'a' }, 'without another login at once')
  t.equal(logins(), 2)
  pass(10_000)
  t.same(await credential.token(), { ok: true, value: 't3' })
})

t.test('everybody who waits gets the failure of a login, and the next call tries again', async t => {
  const { credential, logins } = door(7200, [down])
  t.same(await Promise.all([credential.token(), credential.token()]), [down, down])
  t.same(await credential.token(), { ok: true, value: 't2' })
  t.equal(logins(), 2)
})
