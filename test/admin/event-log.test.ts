import { pino } from 'pino'
import t from 'tap'
import { createEventLog } from '../../src/admin/event-log.ts'
import { createAnswer } from '../../src/callback/answers.ts'
import type { EventOf } from '../../src/events/events.ts'

t.test('what is said rarely is counted by channel and by cause: one cause hides no other', async t => {
  const lines: Record<string, unknown>[] = []
  const log = pino({ base: null, messageKey: 'message' }, { write: line => lines.push(JSON.parse(line)) })
  const handlers = createEventLog(log, () => 0)
  const callback: EventOf<'callback'> = {
    type: 'callback',
    channel: 'sms',
    method: 'POST',
    kind: 'none',
    answer: createAnswer('credential', 'no'),
    refusal: null,
    knowsKey: true,
    signature: 'absent',
    outdated: false,
    ids: [],
    tookMs: 1,
  }
  for (let n = 0; n < 3; n += 1) {
    for (const channel of ['email', 'sms'] as const)
      for (const refusal of ['key', 'signature'] as const)
        handlers.callback?.({ ...callback, channel, refusal })
    for (const quota of ['sms-minute', 'sms-day'])
      handlers['over-quota']?.({
        type: 'over-quota',
        channel: 'sms',
        kind: 'login-code',
        quota,
        to: '+86*******8000',
      })
  }
  t.same(
    lines.map(({ channel, reason, quota }) => [channel, reason ?? quota]),
    [
      ['email', 'key'],
      ['email', 'signature'],
      ['sms', 'key'],
      ['sms', 'signature'],
      ['sms', 'sms-minute'],
      ['sms', 'sms-day'],
    ],
  )
})
