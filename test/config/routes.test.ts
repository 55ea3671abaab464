import t from 'tap'
import { longestAttemptMs } from '../../src/providers/list.ts'
import { carriersWithOthers, readRoutes, routeOf } from '../../src/settings/senders.ts'
import { enough, faultsIn, load } from './settings.ts'

const both = {
  ...enough,
  ALIYUN_ACCESS_KEY_ID: 'LTAI5tExampleKeyId000001',
  ALIYUN_ACCESS_KEY_SECRET: 'aliyun-secret',
  ALIYUN_SMS_SIGN_NAME: '示例',
  SMS_COUNTRIES: '*',
}

t.test('routes are read by country, and * is for all others', async t => {
  const read = readRoutes(' cn=aliyun, tencent ;US, CA=twilio;*=twilio,other;')
  if (!('value' in read)) throw new Error(String(read.fault))
  const route = (country: string) => routeOf(read.value, country)
  t.same(route('CN'), ['aliyun', 'tencent'])
  t.same([route('US'), route('CA')], [['twilio'], ['twilio']])
  t.same(route('DE'), ['twilio', 'other'])
  const some = readRoutes('CN=aliyun')
  t.equal('value' in some && routeOf(some.value, 'DE'), undefined)
  for (const [text, fault] of [
    ['', /must be routes such as/],
    ['aliyun', /must be routes/],
    ['CN=', /must be routes/],
    ['=aliyun', /must be routes/],
    ['CN=a=b', /must be routes/],
    ['CHINA=aliyun', /two letters/],
    ['UK=aliyun', /Great Britain is GB/],
    ['CN=aliyun; DE,CN=twilio', /two routes/],
    ['*=aliyun; *=twilio', /two routes/],
    ['CN=aliyun,aliyun', /twice/],
  ] as const) {
    const wrong = readRoutes(text)
    t.match('fault' in wrong && wrong.fault, fault, text)
  }
})

t.test('one carrier needs no route; several refuse the start with the line to write', async t => {
  t.same(faultsIn(enough), [])
  const [fault, ...more] = faultsIn(both)
  t.match(fault, /^SMS_ROUTES is missing.*SMS_ROUTES=\*=(aliyun,twilio|twilio,aliyun)$/)
  t.same(more, [])
  const line = /SMS_ROUTES=(\S+)$/.exec(fault ?? '')?.[1] ?? ''
  t.same(faultsIn({ ...both, SMS_ROUTES: line }), [], 'the line can be used as it is')
})

t.test('a route leads to carriers that are configured', async t => {
  for (const SMS_ROUTES of ['CN=aliyun; *=twilio', 'CN，HK=aliyun，twilio；*=twilio'])
    t.same(faultsIn({ ...both, SMS_ROUTES }), [])
  const unset = /^SMS_ROUTES leads to aliyun, of which nothing is set: set it, or take it out of the routes$/
  const unknown = /^SMS_ROUTES leads to a carrier that there is not: choose from twilio, aliyun, /
  for (const [first, expected] of [
    ['aliyun', [unset]],
    ['canary', [unknown]],
    ['canary,aliyun', [unset, unknown]],
  ] as const) {
    const faults = faultsIn({ ...enough, SMS_ROUTES: `CN=${first}; *=twilio` })
    t.match(faults, expected, first)
    t.equal(faults.length, expected.length, first)
    t.notMatch(faults, /canary/)
  }
})

t.test('a lease outlives an attempt that asks every carrier of a route', async t => {
  const limits = { aliyun: { answerMs: 150_000 }, twilio: { answerMs: 150_000 } }
  const alone = longestAttemptMs(load({ ...both, SMS_ROUTES: 'CN=aliyun; *=twilio' }), limits)
  const together = longestAttemptMs(load({ ...both, SMS_ROUTES: '*=aliyun,twilio' }), limits)
  t.ok(alone < 600_000 && together >= 600_000, `${alone} ${together}`)
})

t.test('the carriers that stand beside another one', async t => {
  const of = (text: string) => {
    const read = readRoutes(text)
    return 'value' in read ? [...carriersWithOthers(read.value)].sort() : null
  }
  t.same(of('CN=aliyun,tencent; *=twilio'), ['aliyun', 'tencent'])
  t.same(of('CN=aliyun; *=twilio'), [])
  t.same(of('CN=aliyun; US=twilio,aliyun; *=twilio'), ['aliyun', 'twilio'])
})
