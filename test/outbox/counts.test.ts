import t from 'tap'
import { createCountChanges } from '../../src/outbox/unit.ts'
import { NOON } from './samples.ts'

const MINUTE = NOON / 60_000
const mail = { channel: 'email', kind: 'login-code', arrivedAt: NOON + 59_999 } as const
const sms = { channel: 'sms', kind: 'login-code', arrivedAt: NOON + 60_000 } as const

t.test('changes of state add up by minute of arrival, channel, kind and state', t => {
  const counts = createCountChanges()
  counts.addChange(mail, 'new', 'queued')
  counts.addChange(mail, 'new', 'sending')
  counts.addChange(mail, 'sending', 'sent')
  counts.addChange(sms, 'queued', 'superseded')
  t.same(counts.changes(), [
    { minute: MINUTE, channel: 'email', kind: 'login-code', state: 'queued', by: 1 },
    { minute: MINUTE, channel: 'email', kind: 'login-code', state: 'sent', by: 1 },
    { minute: MINUTE + 1, channel: 'sms', kind: 'login-code', state: 'queued', by: -1 },
    { minute: MINUTE + 1, channel: 'sms', kind: 'login-code', state: 'superseded', by: 1 },
  ])
  t.same(counts.live(), { email: 1, sms: -1 })
  t.end()
})

t.test('messages that count as arrived at another time stay as many', t => {
  const counts = createCountChanges()
  counts.addRedated(sms, 'queued', NOON, 3)
  t.same(counts.changes(), [
    { minute: MINUTE + 1, channel: 'sms', kind: 'login-code', state: 'queued', by: -3 },
    { minute: MINUTE, channel: 'sms', kind: 'login-code', state: 'queued', by: 3 },
  ])
  t.same(counts.live(), { email: 0, sms: 0 })
  t.end()
})
