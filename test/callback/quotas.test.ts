import t from 'tap'
import { createChargesOf, deliverUnreported } from '../../src/callback/quotas.ts'
import type { Channel, NewMessage, Purpose } from '../../src/messages/message.ts'
import type { QuotaLimits } from '../../src/messages/quotas.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const limits: QuotaLimits = {
  'recipient-10m': 5,
  'recipient-day': 20,
  'alarm-recipient-hour': 9,
  'signup-domain-hour': 8,
  'sms-newcomers-hour': 40,
  'sms-prefix-10m': 50,
  'sms-country-day': 7,
  'email-minute': 11,
  'email-day': 12,
  'sms-minute': 13,
  'sms-day': 15,
}
const off = Object.fromEntries(Object.keys(limits).map(name => [name, 0])) as QuotaLimits

const message = (channel: Channel, recipient: string, purpose: Purpose = 'code', kind = 'k'): NewMessage => ({
  id: '0',
  channel,
  kind,
  purpose,
  recipient,
  masked: '',
  destination: '',
  content: { params: {}, words: 'ours' },
  arrivedAt: 0,
  expiresAt: 1,
})
const charges = createChargesOf(limits, { bucketHash: (...fields) => fields.join('/') })

t.test('an SMS draws on all of them, each with its own window and limit', async t => {
  const [ten, hour] = [10 * MINUTE, 60 * MINUTE]
  t.same(
    charges(message('sms', '+8613800138000'), 'CN').map(({ quota, bucket, windowMs, limit, warnAt }) => [
      quota,
      bucket,
      windowMs,
      limit,
      warnAt,
    ]),
    [
      ['recipient-10m', 'recipient/sms/+8613800138000/k', ten, 5, undefined],
      ['recipient-day', 'recipient/sms/+8613800138000/k', DAY, 20, undefined],
      ['sms-newcomers-hour', 'code:86', hour, 40, 20],
      ['sms-prefix-10m', 'prefix/+861380013', ten, 50, undefined],
      ['sms-country-day', 'country:CN', DAY, 7, undefined],
      ['sms-minute', 'channel:sms', MINUTE, 13, 7],
      ['sms-day', 'channel:sms', DAY, 15, 8],
    ],
  )
  t.same(
    charges(message('email', 'a@x.test', 'link'), undefined).map(({ quota }) => quota),
    ['recipient-10m', 'recipient-day', 'email-minute', 'email-day'],
  )
  t.same(
    charges(message('email', 'a@x.test', 'alarm'), undefined).map(({ quota }) => quota),
    ['alarm-recipient-hour', 'email-minute', 'email-day'],
    'an alarm is held back by none of the quotas of codes and links',
  )
  const alarm = message('sms', '+8613800138000', 'alarm')
  const bucket = 'recipient/sms/+8613800138000/k'
  t.match(charges(alarm, 'CN')[0], { bucket, windowMs: hour, limit: 9, warnAt: 5 })
  t.same(createChargesOf(off, { bucketHash: () => 'x' })(message('email', 'a@x.test'), undefined), [])
})

t.test('a person is one however the address is written', async t => {
  const [charge] = charges(message('email', 'Ann+spam@X.test'), undefined)
  t.equal(charge?.bucket, 'recipient/email/ann@x.test/k')
})

t.test('a sign-up counts for the domain that somebody registered, if it is nobody known', async t => {
  const domain = (recipient: string, kind = 'activation-code') =>
    charges(message('email', recipient, 'code', kind), undefined).find(
      each => each.quota === 'signup-domain-hour',
    )
  t.match(domain('a@x.example'), {
    bucket: 'domain/x.example',
    windowMs: 60 * MINUTE,
    limit: 8,
    warnAt: 4,
    newcomersOnly: true,
  })
  t.equal(domain('a@B.c.X.example')?.bucket, 'domain/x.example', 'whatever its subdomains')
  t.equal(domain('a@b.company.com.cn', 'registration-activation')?.bucket, 'domain/company.com.cn')
  const leavesOut = createChargesOf(
    limits,
    { bucketHash: (...fields) => fields.join('/') },
    'no-reply@mail.x.example',
  )
  const counted = (to: string) =>
    leavesOut(message('email', to, 'code', 'activation-code'), undefined).map(({ quota }) => quota)
  t.notOk(counted('a@X.example').includes('signup-domain-hour'), 'one’s own people may all sign up at once')
  t.ok(counted('a@y.example').includes('signup-domain-hour'))
  for (const to of ['a@gmail.com', 'a@QQ.com', 'a@vip.163.com', 'a@yahoo.co.jp'])
    t.equal(domain(to), undefined, to)
  t.equal(
    domain('a@ann.fastmail.com')?.bucket,
    'domain/fastmail.com',
    'subdomains of a provider are its customers',
  )
  for (const kind of [
    'recovery-code',
    'password-reset',
    'phone-change',
    'member-password-recovery',
    'member-alarm',
  ])
    t.equal(domain('a@x.example', kind), undefined, kind)
  t.equal(
    charges(message('sms', '+8613800138000', 'code', 'registration-code'), 'CN').find(
      ({ quota }) => quota === 'signup-domain-hour',
    ),
    undefined,
  )
})

t.test('new numbers are counted by calling code, without a limit too, and alarms are not', async t => {
  const newcomers = (to: string, limit: number, purpose: Purpose = 'code') =>
    createChargesOf({ ...off, 'sms-newcomers-hour': limit }, { bucketHash: () => 'x' })(
      message('sms', to, purpose),
      'CN',
    )
  const said = { quota: 'sms-newcomers-hour', windowMs: 60 * MINUTE, newcomersOnly: true }
  t.match(newcomers('+8613800138000', 30), [{ ...said, bucket: 'code:86', limit: 30, warnAt: 15 }])
  t.match(newcomers('+8613800138000', 0), [{ ...said, limit: Number.POSITIVE_INFINITY }])
  t.same(newcomers('+8613800138000', 30, 'alarm'), [])
  for (const [to, code] of [
    ['+14155550100', '1'],
    ['+447400123456', '44'],
    ['+37060112345', '370'],
  ] as const)
    t.equal(newcomers(to, 0)[0]?.bucket, `code:${code}`)
})

t.test('what nobody will report on counts as delivered when it is sent', async t => {
  const sent = async (provider: string, to: 'final' | 'queued' = 'final') => {
    let given: object | undefined
    const settle = deliverUnreported(
      async (_id, _lease, settlement) => {
        given = settlement
        return { state: 'lost' }
      },
      new Set(['twilio']),
    )
    const record = { at: 0, tookMs: 1, outcome: 'sent', code: '', reply: '' }
    const records = [
      { ...record, provider: 'twilio' },
      { ...record, provider },
    ]
    await settle(
      'id',
      { token: 't', until: 0 },
      to === 'final' ? { to, state: 'sent', answer: null, records } : { to, dueAt: 1, records },
    )
    return (given as { readonly delivered?: boolean }).delivered
  }
  t.same(
    [await sent('kannel'), await sent('twilio'), await sent('kannel', 'queued')],
    [true, undefined, undefined],
  )
})
