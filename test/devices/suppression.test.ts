import t from 'tap'
import type { Occurrence } from '../../src/devices/occurrence.ts'
import {
  type AlertMemory,
  decideSuppression,
  parseMemory,
  serializeMemory,
  updateMemory,
} from '../../src/devices/suppression.ts'

const MINUTE = 60_000
const NOW = Date.UTC(2026, 10, 20)

const occurrence = (is: 'alarm' | 'recovery', at: number | null = NOW): Occurrence => ({
  source: 'alert',
  product: 'p',
  device: '1',
  rule: 'r',
  is,
  canRecover: true,
  at,
  identity: ['1'],
  kind: is === 'alarm' ? 'device-alert' : 'device-recovered',
  params: {},
})
const memory = (more: Partial<AlertMemory> = {}): AlertMemory => ({
  sentAt: NOW,
  alarmAt: NOW,
  recoveredAt: null,
  open: true,
  messageId: 'm',
  ...more,
})

t.test('neither an alarm that is over already nor the recovery of an earlier alarm is sent', async t => {
  const recovered = memory({ open: false, recoveredAt: NOW + 5 * MINUTE })
  for (const [before, happened, expected] of [
    [recovered, occurrence('alarm', NOW + 4 * MINUTE), 'outdated'],
    [recovered, occurrence('alarm', NOW + 5 * MINUTE), 'send'],
    [memory(), occurrence('recovery', NOW - 1), 'outdated'],
    [memory(), occurrence('recovery', NOW), 'send'],
    [memory(), occurrence('recovery', null), 'send'],
  ] as const)
    t.equal(decideSuppression(before, happened, 0, NOW + 20 * MINUTE), expected)
})

t.test('a memo keeps the newest times, in whichever order messages come', async t => {
  const before = memory({ alarmAt: NOW + 5, recoveredAt: NOW + 7 })
  for (const [is, at, alarmAt, recoveredAt] of [
    ['alarm', NOW + 1, NOW + 5, NOW + 7],
    ['alarm', NOW + 9, NOW + 9, NOW + 7],
    ['alarm', null, NOW + 5, NOW + 7],
    ['recovery', NOW + 1, NOW + 5, NOW + 7],
    ['recovery', NOW + 9, NOW + 5, NOW + 9],
  ] as const)
    t.match(updateMemory(before, occurrence(is, at), 0, NOW, 'm').memory, { alarmAt, recoveredAt })
})

t.test('a clock that was set back does not suppress alarms for long', async t => {
  const decide = (now: number) => decideSuppression(memory(), occurrence('alarm'), 10 * MINUTE, now)
  t.same([decide(NOW - 30_000), decide(NOW - 60 * MINUTE)], ['quiet', 'send'], 'a little is skew')
})

t.test('a memo is kept for 90 days while the alert is open, else for a day or the row’s minutes', async t => {
  const DAY = 24 * 60 * MINUTE
  const alarmed = updateMemory(null, occurrence('alarm'), 10 * MINUTE, NOW, 'm1')
  t.match(alarmed, {
    memory: { open: true, messageId: 'm1', sentAt: NOW, alarmAt: NOW },
    expiresAt: NOW + 90 * DAY,
  })
  const recovered = updateMemory(alarmed.memory, occurrence('recovery', NOW + 1), 10 * MINUTE, NOW, 'm2')
  t.match(recovered, { memory: { open: false, recoveredAt: NOW + 1 }, expiresAt: NOW + DAY })
  t.match(updateMemory(null, { ...occurrence('alarm'), canRecover: false }, 3 * DAY, NOW, 'm'), {
    memory: { open: false },
    expiresAt: NOW + 3 * DAY,
  })
})

t.test('a memo is parsed as it was serialized; one that cannot be parsed is none', async t => {
  for (const each of [memory(), memory({ open: false, alarmAt: null, recoveredAt: 5 })])
    t.same(parseMemory(serializeMemory(each)), each)
  for (const text of [undefined, '', '{', '[]', '["x"]', 'null', '{"sentAt":1}'])
    t.equal(parseMemory(text), null)
})
