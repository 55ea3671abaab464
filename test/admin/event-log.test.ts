import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { createEventLog } from '../../src/admin/event-log.ts'
import { createAnswer } from '../../src/callback/answers.ts'
import { createEmitter, type EventOf, type ServiceEvent } from '../../src/events/events.ts'
import { quote } from '../../src/language/sentence.ts'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'
import { everyEvent } from './every-event.ts'

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

/** Variants that only the log tells apart. */
const inTheLogAlone: readonly ServiceEvent[] = everyEvent.flatMap((event): readonly ServiceEvent[] => {
  switch (event.type) {
    case 'callback':
      return event.method === 'GET' ? [{ ...event, isCheck: true, tookMs: 1.26 }] : refusedCallbacks(event)
    case 'receipt':
      return [{ ...event, channel: 'email', id: 'a1' }]
    case 'breaker':
      return [{ ...event, state: 'closed' }]
    case 'partial-fault':
      return [
        { ...event, is: 'over' },
        { ...event, recipients: 3 },
      ]
    case 'ddq-leader':
      return [{ ...event, leads: false }]
    case 'robot-posted':
      return event.isDropped ? [{ ...event, isDropped: false }] : []
    case 'store-failed':
      return [{ ...event, error: new StoreUnavailable(quote('the store cannot commit now')) }]
    case 'admin-refused':
      return [{ ...event, reason: 'no-token' }]
    default:
      return []
  }
})

function refusedCallbacks(event: EventOf<'callback'>): readonly ServiceEvent[] {
  return (['quota', 'unavailable', 'mailRecipient'] as const).map(reason => ({
    ...event,
    refusal: null,
    answer: createAnswer(reason, `is ${reason}`),
  }))
}

t.test('every event has exactly its line: level, fields, words, and how often a minute at most', async t => {
  const said = [...everyEvent, ...inTheLogAlone].map(event => {
    const lines: string[] = []
    const settings = {
      base: null,
      timestamp: false,
      level: 'trace',
      serializers: { err: (fault: unknown) => fault },
    }
    const log = pino(settings, { write: line => lines.push(line) })
    const emit = createEmitter([createEventLog(log, () => 0)])
    for (let n = 0; n < 62; n += 1) emit(event)
    const line = lines[0]?.trimEnd().replace(/,"stack":"(?:[^"\\]|\\.)*"/, '') ?? ''
    return `${event.type}: ${lines.length} × ${line}`.trimEnd()
  })
  const expected = readFileSync(join(import.meta.dirname, '../fixtures/event-log.txt'), 'utf8')
  t.same([...new Set(said)], expected.trimEnd().split('\n'))
})

t.test('what a provider calls ours of a single message or recipient is no error, and is told', t => {
  const lines: string[] = []
  const emit = createEmitter([
    createEventLog(pino({ base: null }, { write: line => lines.push(line) }), () => 0),
  ])
  for (const scope of ['message', 'recipient', 'account'] as const)
    emit({
      type: 'attempt',
      message: { id: 'a', channel: 'sms', kind: 'login-code', masked: '+86*******8000' },
      provider: 'twilio',
      outcome: { is: 'retry', whose: 'ours', scope, code: scope, reply: quote('no') },
      attempts: 1,
      tookMs: 1,
    })
  t.same(
    lines.map(line => {
      const { level, msg } = JSON.parse(line) as { readonly level: number; readonly msg: string }
      return [level, msg]
    }),
    [
      [40, 'not sent yet: this may be ours to mend'],
      [40, 'not sent yet: this may be ours to mend'],
      [50, 'the provider refuses us: mend this'],
    ],
  )
  t.end()
})

t.test('each sink hears what it has a handler for, in the order of the sinks', async t => {
  const heard: string[] = []
  const hear = (name: string) => (event: ServiceEvent) => heard.push(`${name} ${event.type}`)
  const emit = createEmitter([
    { 'stray-request': hear('one'), fault: hear('one') },
    { fault: hear('two') },
    { fault: hear('three'), 'stray-request': hear('three') },
  ])
  emit({ type: 'stray-request', answer: { err_code: 0, err_msg: '' } })
  emit({ type: 'fault', error: new Error('a bug') })
  emit({ type: 'webhooks-dropped', count: 1 })
  t.same(heard, ['one stray-request', 'three stray-request', 'one fault', 'two fault', 'three fault'])
})
