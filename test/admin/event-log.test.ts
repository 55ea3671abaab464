import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { createEventLog } from '../../src/admin/event-log.ts'
import { createAnswer } from '../../src/callback/answers.ts'
import { createEmitter, type ServiceEvent } from '../../src/events/events.ts'
import { quote, Sentence } from '../../src/language/sentence.ts'
import { BacklogFull, StoreUnavailable } from '../../src/outbox/outbox.ts'
import { everyEvent } from './every-event.ts'

/** Variants that only the log tells apart. */
const inTheLogAlone: readonly ServiceEvent[] = everyEvent.flatMap((event): readonly ServiceEvent[] => {
  switch (event.type) {
    case 'callback':
      return event.method === 'GET'
        ? [{ ...event, answer: createAnswer('ok', 'is ok'), refusal: null, isCheck: true, tookMs: 1.26 }]
        : (['quota', 'unavailable', 'mailRecipient'] as const).map(reason => ({
            ...event,
            refusal: null,
            answer: createAnswer(reason, `is ${reason}`),
          }))
    case 'attempt':
      // What a provider calls ours of a single message or recipient is no error yet.
      return event.outcome.is === 'retry' && event.outcome.whose === 'ours'
        ? (['message', 'recipient'] as const).map(scope => ({
            ...event,
            outcome: { ...event.outcome, scope } as typeof event.outcome,
          }))
        : []
    case 'receipt':
      return [{ ...event, channel: 'email', id: 'a1', reply: '5.1.1 nobody' }]
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
      return [
        { ...event, error: new StoreUnavailable(quote('the store cannot commit now')) },
        { ...event, error: new BacklogFull('full') },
      ]
    case 'store-loss':
      return [{ ...event, from: null }]
    case 'admin-refused':
      return [{ ...event, reason: 'no-token' }]
    default:
      return []
  }
})

/** Copies of a value in which one text, number or error is another, each by its path. */
function variantsOf(value: unknown): readonly (readonly [path: string, variant: unknown])[] {
  if (typeof value === 'string') return [['', `${value}!`]]
  if (typeof value === 'number') return [['', value + 1]]
  if (value instanceof Error) return [['', new TypeError('another')]]
  if (value instanceof Sentence) return [['', quote(`${String(value)}!`)]]
  return Object.entries(value ?? {}).flatMap(([name, each]) =>
    variantsOf(each).map(
      ([path, variant]) =>
        [
          path === '' ? name : `${name}.${path}`,
          Array.isArray(value) ? [variant] : { ...(value as object), [name]: variant },
        ] as const,
    ),
  )
}

t.test(
  'what is said of each event: level, fields, words, how often a minute, and for each of what',
  async t => {
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
      const say = (each: ServiceEvent) => {
        lines.length = 0
        for (let n = 0; n < 62; n += 1) emit(each)
        return lines.length
      }
      const times = say(event)
      const line = lines[0]?.trimEnd().replace(/,"stack":"(?:[^"\\]|\\.)*"/, '') ?? ''
      const { type, ...fields } = event
      const apart = variantsOf(fields).filter(
        ([, variant]) => times % 62 !== 0 && say({ type, ...(variant as object) } as ServiceEvent) === times,
      )
      return `${type}: ${[times, ...apart.map(([path]) => path)].join(' ')} × ${line}`.trimEnd()
    })
    const expected = readFileSync(join(import.meta.dirname, '../fixtures/event-log.txt'), 'utf8')
    t.same([...new Set(said)], expected.trimEnd().split('\n'))
  },
)

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
