import t from 'tap'
import { mailBody, type ServiceRig, smsBody, startRig } from '../rigs/service.ts'

const NOON = Date.UTC(2026, 10, 21, 12)
const TEN_MINUTES = 600_000
/** A machine under load is late; a service that does not keep the time is later by far. */
const GENEROUS_MS = 5000

/** Everything that a POST can be refused for before it is stored: what is asked, err_code and status of `code`. */
const REFUSALS: readonly (readonly [string, (rig: ServiceRig) => Promise<Answer>, number, number])[] = [
  ['SMS, key', rig => rig.ask(rig.path('sms').replace(/[0-9a-f]{32}/, 'wrong'), POST), 4031003, 403],
  ['SMS, corp_id', rig => rig.ask(rig.path('sms').replace('/corp-', '/other-'), POST), 4041010, 404],
  ['SMS, not JSON', rig => rig.post('sms', '{'), 4002001, 400],
  ['SMS, not an object', rig => rig.post('sms', []), 4002001, 400],
  ['SMS, without a parameter', rig => rig.post('sms', smsBody({}, { code: null })), 4002001, 400],
  ['SMS, too large', rig => rig.post('sms', ' '.repeat(64 * 1024 + 1)), 4002001, 413],
  [
    'SMS, type',
    rig => rig.ask(rig.path('sms'), { ...POST, headers: { 'content-type': 'a/b' } }),
    4002001,
    415,
  ],
  ['SMS, recipient', rig => rig.post('sms', smsBody({ to: '12' })), 4002002, 400],
  ['SMS, country', rig => rig.post('sms', smsBody({ to: '+447400123456', area_code: '44' })), 4002003, 400],
  ['e-mail, not JSON', rig => rig.post('email', '{'), 4002011, 400],
  ['e-mail, without a parameter', rig => rig.post('email', mailBody({}, { url: null })), 4002011, 400],
  ['e-mail, too large', rig => rig.post('email', ' '.repeat(64 * 1024 + 1)), 4002011, 413],
  ['e-mail, recipient', rig => rig.post('email', mailBody({ to: 'nobody' })), 4002012, 400],
]
const POST = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } } as const
/** What no answer may lack, whoever asks for what. */
const HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'strict-transport-security': 'max-age=63072000',
}
type Answer = Awaited<ReturnType<ServiceRig['post']>>

t.test('ERROR_STATUS=200: what the tables list is answered with 200, err_code as ever', async t => {
  const rig = await startRig(t)
  for (const [name, ask, code, status] of REFUSALS) {
    const answer = await ask(rig)
    t.match(answer, { status, errCode: code, headers: HEADERS }, name)
  }
  t.match(await rig.post('sms', smsBody()), { errCode: 0, headers: HEADERS })
  t.match(await rig.validate('sms'), { status: 200, headers: HEADERS })
  for (const path of ['/nowhere', '/%zz', '/receipt/twilio', `/receipt/bounce/${'0'.repeat(32)}`])
    t.match((await rig.ask(path, POST)).headers, HEADERS, path)
  await rig.restart({ ERROR_STATUS: '200' })
  for (const [name, ask, code] of REFUSALS) {
    const answer = await ask(rig)
    t.match(answer, { status: 200, errCode: code }, name)
    t.not(answer.errMsg, '', name)
  }
  const wrongKey = rig.path('email').replace(/[0-9a-f]{32}/, 'wrong')
  t.match(
    await rig.ask(wrongKey, POST),
    { status: 403, errCode: 4031003 },
    'the e-mail table has no such code',
  )
  t.match(await rig.ask(rig.path('sms'), { method: 'PUT' }), { status: 405, errCode: 4051001 })
  t.match(await rig.ask('/nowhere', POST), { status: 404, errCode: 4041001 })
})

t.test('Retry-After names the second from which on there is room, never one before', async t => {
  // In the middle of a second, so that rounding shows.
  const now = NOON + 60_250
  const rig = await startRig(
    t,
    { QUOTAS: 'recipient-10m=1 recipient-day=off' },
    { clock: { now: () => now } },
  )
  const to = ['+8613800138000', '+8613800138001']
  t.equal((await rig.post('sms', smsBody({ to: to[0] }))).errCode, 0)
  const refused = await rig.post('sms', smsBody({ to: to[0] }, { code: '482914' }))
  // The one that counts slides out of the estimate with the end of the next window.
  const wait = 2 * TEN_MINUTES - (now % TEN_MINUTES)
  t.not(wait % 1000, 0)
  t.match(refused, {
    status: 429,
    errCode: 4291001,
    headers: { 'retry-after': String(Math.ceil(wait / 1000)) },
  })
  t.match(
    await rig.post('sms', smsBody({ to: to.join(',') }, { code: '482915' })),
    { status: 200, errCode: 0, errMsg: '1 of 2 recipients refused', headers: { 'retry-after': undefined } },
    'who was written to is not asked to come again',
  )
})

t.test('a connection is closed after a body that is too large, and while the service ends', async t => {
  const rig = await startRig(t)
  t.match((await rig.post('sms', smsBody())).headers, { connection: 'keep-alive' })
  const large = await rig.post('sms', ' '.repeat(64 * 1024 + 1))
  t.match(large, { status: 413, headers: { connection: 'close' } })
  const closed = rig.service().close(GENEROUS_MS)
  const last = await rig.post('sms', smsBody({}, { code: '482914' }))
  t.match(last, { errCode: 0, headers: { connection: 'close' } })
  await closed
})
