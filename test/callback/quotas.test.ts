import t from 'tap'
import { createChargesOf, type QuotaLimits } from '../../src/callback/quotas.ts'
import type { Channel, NewMessage, Purpose } from '../../src/messages/message.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const limits: QuotaLimits = {
  recipientPer10Minutes: 5,
  recipientPerDay: 20,
  alarmRecipientPerHour: 9,
  smsPrefixPer10Minutes: 50,
  smsCountryPerDay: 7,
  channel: { email: { perMinute: 11, perDay: 12 }, sms: { perMinute: 13, perDay: 15 } },
}
const off: QuotaLimits = {
  recipientPer10Minutes: 0,
  recipientPerDay: 0,
  alarmRecipientPerHour: 0,
  smsPrefixPer10Minutes: 0,
  smsCountryPerDay: 0,
  channel: { email: { perMinute: 0, perDay: 0 }, sms: { perMinute: 0, perDay: 0 } },
}

const message = (channel: Channel, recipient: string, purpose: Purpose = 'code', kind = 'k'): NewMessage => ({
  id: '0',
  channel,
  kind,
  purpose,
  recipient,
  masked: '',
  content: { params: {}, words: 'ours' },
  arrivedAt: 0,
  expiresAt: 1,
})
const charges = createChargesOf(limits, { bucketHash: (...fields) => fields.join('/') })
const bucketOf = (each: NewMessage, quota: string) =>
  charges(each, 'CN').find(charge => charge.quota === quota)?.bucket

t.test('an SMS draws on all of them, each with its own window and limit', async t => {
  t.same(
    charges(message('sms', '+8613800138000'), 'CN').map(({ quota, windowMs, limit, warnAt }) => [
      quota,
      windowMs,
      limit,
      warnAt,
    ]),
    [
      ['recipient-10m', 10 * MINUTE, 5, undefined],
      ['recipient-day', DAY, 20, undefined],
      ['sms-prefix-10m', 10 * MINUTE, 50, undefined],
      ['sms-country-day', DAY, 7, undefined],
      ['sms-minute', MINUTE, 13, 7],
      ['sms-day', DAY, 15, 8],
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
  t.match(charges(alarm, 'CN')[0], { windowMs: 60 * MINUTE, limit: 9, warnAt: 5 })
  t.not(
    bucketOf(alarm, 'alarm-recipient-hour'),
    bucketOf({ ...alarm, kind: 'other' }, 'alarm-recipient-hour'),
  )
  t.same(createChargesOf(off, { bucketHash: () => 'x' })(message('sms', '+8613800138000'), 'CN'), [])
})

t.test('each limit is switched on and off for itself', async t => {
  const sms = message('sms', '+8613800138000')
  const names = (more: Partial<QuotaLimits>) =>
    createChargesOf({ ...off, ...more }, { bucketHash: () => 'x' })(sms, 'CN').map(({ quota }) => quota)
  t.same(names({ recipientPer10Minutes: 1 }), ['recipient-10m'])
  t.same(names({ recipientPerDay: 1 }), ['recipient-day'])
  t.same(names({ smsPrefixPer10Minutes: 1 }), ['sms-prefix-10m'])
  t.same(names({ smsCountryPerDay: 1 }), ['sms-country-day'])
  t.same(names({ channel: { ...off.channel, sms: { perMinute: 1, perDay: 0 } } }), ['sms-minute'])
  t.same(names({ channel: { ...off.channel, sms: { perMinute: 0, perDay: 1 } } }), ['sms-day'])
})

t.test('a person is one however the address is written; another kind is counted for itself', async t => {
  const name = (recipient: string, kind?: string) =>
    bucketOf(message('email', recipient, 'code', kind), 'recipient-day')
  t.equal(name('Ann+spam@X.test'), name('ann@x.test'))
  t.not(name('ann@x.test'), name('bob@x.test'))
  t.not(name('ann@x.test'), name('ann@x.test', 'other'))
})

t.test('a range of numbers is one prefix, less the last four digits', async t => {
  const prefix = (number: string) => bucketOf(message('sms', number), 'sms-prefix-10m')
  t.equal(prefix('+8613800138000'), prefix('+8613800139999'))
  t.not(prefix('+8613800138000'), prefix('+8613800148000'))
})
