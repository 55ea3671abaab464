import { inspect } from 'node:util'
import t from 'tap'
import { createAttempts, type RoutedJob } from '../../src/delivery/attempt.ts'
import { type Carrier, createCarrier } from '../../src/delivery/carrier.ts'
import { quote, unpackWords } from '../../src/language/sentence.ts'
import { type Lease, StoreUnavailable } from '../../src/outbox/outbox.ts'
import type { LookUp, Outcome } from '../../src/providers/provider.ts'
import { inEnglish } from '../language/english.ts'
import { type Sample, sample } from '../outbox/samples.ts'
import { rendered } from './rig.ts'
import { installTimers } from './simulated-timers.ts'
import { createTimeline } from './simulation.ts'

const SENT = { is: 'sent', reply: 'ok', providerId: 'P1' } as const
const AMBIGUOUS = { is: 'ambiguous', code: 'reply-limit', reply: '' } as const
const LATER = { is: 'retry', whose: 'later', code: '451', reply: quote('busy') } as const
const ABORTED = { ...LATER, code: 'aborted', reply: '', untouched: true } as const
const REVIEW = { is: 'retry', whose: 'ours', scope: 'template', code: 'review', reply: '' } as const
const REFUSED: Outcome = { is: 'retry', whose: 'later', code: 'ECONNREFUSED', reply: '', untouched: true }

/** What a carrier says when it is asked to send, or why it cannot; it may be asked what became of a message. */
interface Says {
  readonly send?: Outcome | Error
  readonly fits?: string | Error
  readonly lookUp?: LookUp
  /** It rests since it failed so often. */
  readonly failed?: number
}

interface Given extends Omit<Partial<RoutedJob>, 'message'>, Pick<Sample, 'channel' | 'purpose' | 'lifeMs'> {
  /** What the store says when the attempt is noted, by the carrier; `undefined` is the name of one that is alone. */
  readonly begins?: Readonly<Record<string, 'outdated' | StoreUnavailable>>
  /** How long the store takes to note the attempt, ms. */
  readonly stallMs?: number
  readonly isStopping?: boolean
  readonly cannotRender?: boolean
}

/** Makes one attempt by these carriers. @returns all that comes of it; moments are ms from now */
async function attempt(says: readonly Says[], given: Given = {}) {
  const {
    begins = {},
    stallMs = 0,
    isStopping = false,
    cannotRender = false,
    lifeMs = 600_000,
    demotions = [],
    ...job
  } = given
  const { channel = 'sms', purpose = 'code' } = given
  const time = createTimeline()
  const timers = installTimers(time)
  const clock = { now: time.now }
  const log: string[] = []
  const all = says.map(({ send = SENT, fits, lookUp, failed = 0 }, at): Carrier => {
    const name = 'abc'.charAt(at)
    const carrier = createCarrier(
      {
        name,
        channel,
        concurrency: 2,
        scopesOf: () => ({ template: 'SMS_1' }),
        fits() {
          if (fits instanceof Error) throw fits
          return fits === undefined ? null : quote(fits)
        },
        async send() {
          log.push(`${name} gets it`)
          if (send instanceof Error) throw send
          return send
        },
        ...(lookUp && {
          async lookUp(_outgoing, since) {
            log.push(`${name} is asked about it since ${since}`)
            return lookUp
          },
        }),
        verify: async () => ({ ok: true, detail: '' }),
        close: async () => {},
      },
      { clock, random: () => 0.5 },
    )
    const { message } = sample(clock)
    for (let n = 0; n < failed; n += 1) carrier.begin(0, message, rendered(message)).end(REFUSED)
    return carrier
  })
  const attempts = createAttempts(
    {
      channel,
      carriers: all,
      route: () => all,
      reports: {
        order: (inOrder: readonly Carrier[]) => ({
          carriers: demotions.length > 0 ? inOrder.toReversed() : inOrder,
          demotions,
        }),
        noteAsked() {},
        noteEnd() {},
      } as never,
    },
    {
      render(message) {
        if (cannotRender) throw new TypeError('no such template')
        return rendered(message)
      },
      outbox: {
        beginAttempt(_id: string, { token }: Lease, by?: string) {
          log.push(`${token} by ${by}`)
          time.runUntil(time.now() + stallMs)
          const said = begins[`${by}`]
          if (said instanceof Error) throw said
          return said && Promise.resolve(said)
        },
      } as never,
      clock,
      random: () => 0.5,
      emit(event) {
        if (event.type !== 'attempt') return log.push(event.type)
        const { attempts, tookMs, outcome } = event
        log.push(`attempt ${attempts} ${inLine(outcome)} after ${tookMs} ms`)
      },
      attemptWithinMs: 60_000,
      run: { isStopping },
    },
    () => {},
  )
  const { message } = sample(clock, { channel, purpose, lifeMs })
  const lease = { token: 'begun', until: 120_000 }
  const result = await attempts.run(attempts.route({ message, lease, attempts: 1, ambiguous: 0, ...job }))
  timers.uninstall()
  const { records = [], ...settlement } = result.settlement
  const timeline = records.map(
    ({ provider, outcome, code, reply }) => `${provider} ${outcome} ${code} ${String(unpackWords(reply))}`,
  )
  const said = [log.join(', '), timeline.join(', '), inLine({ ...result, settlement })].join(' | ')
  return { ...result, said }
}

const inLine = (value: unknown): string => inspect(inEnglish(value), { breakLength: Infinity })

const LIMIT: Outcome = { is: 'limit', scope: 'recipient', code: 'hour', reply: '', retryAfterMs: 60_000 }
const COUNTRY = { is: 'rejected', scope: 'country', code: 'country', reply: '' } as const
const ABSENT: LookUp = { is: 'absent', reply: quote('never taken') }
const NOT_KNOWN: LookUp = { is: 'not-known', reply: quote('not there yet') }

const ROWS: Readonly<Record<string, readonly [says: readonly Says[], given: Given, said: string]>> = {
  'one carrier takes it': [
    [{}],
    {},
    "begun by undefined, a gets it, attempt 1 { is: 'sent', reply: 'ok', providerId: 'P1' } after 0 ms | a sent  ok | { settlement: { to: 'final', state: 'sent', answer: null, providerId: 'P1' }, ran: true }",
  ],
  'a store that stalls is no failure of the carrier, which one more would make rest': [
    [{ failed: 4 }],
    { stallMs: 60_000 },
    "begun by undefined, a gets it, attempt 1 { is: 'sent', reply: 'ok', providerId: 'P1' } after 0 ms | a sent  ok | { settlement: { to: 'final', state: 'sent', answer: null, providerId: 'P1' }, ran: true }",
  ],
  'nor is one that stalls and fails': [
    [{ failed: 4 }],
    { stallMs: 60_000, begins: { undefined: new StoreUnavailable(quote('no room')) } },
    "begun by undefined, store-failed |  | { settlement: { to: 'queued', dueAt: 60000, uncounted: true }, ran: false }",
  ],
  'the first is asked last': [
    [{}, { send: LATER }],
    { demotions: [{ provider: 'a', code: 'code-undelivered', reply: quote('r') }] },
    "begun by b, b gets it, attempt 1 { is: 'retry', whose: 'later', code: '451', reply: 'busy' } after 0 ms, begun by a, a gets it, attempt 1 { is: 'sent', reply: 'ok', providerId: 'P1' } after 0 ms | a skipped code-undelivered r, b retry 451 busy, a sent  ok | { settlement: { to: 'final', state: 'sent', answer: null, providerId: 'P1' }, ran: true }",
  ],
  'the second takes it': [
    [{ send: LATER }, {}],
    {},
    "begun by a, a gets it, attempt 1 { is: 'retry', whose: 'later', code: '451', reply: 'busy' } after 0 ms, begun by b, b gets it, attempt 1 { is: 'sent', reply: 'ok', providerId: 'P1' } after 0 ms | a retry 451 busy, b sent  ok | { settlement: { to: 'final', state: 'sent', answer: null, providerId: 'P1' }, ran: true }",
  ],
  'both refuse it for good, each for a reason of its own': [
    [{ send: { is: 'rejected', scope: 'message', code: 'words', reply: '' } }, { send: COUNTRY }],
    {},
    "begun by a, a gets it, attempt 1 { is: 'rejected', scope: 'message', code: 'words', reply: '' } after 0 ms, begun by b, b gets it, attempt 1 { is: 'rejected', scope: 'country', code: 'country', reply: '' } after 0 ms | a rejected words , b rejected country  | { settlement: { to: 'final', state: 'refused', answer: 'country' }, ran: true }",
  ],
  'the first is busy, the second refuses it for good': [
    [{ send: LATER }, { send: COUNTRY }],
    {},
    "begun by a, a gets it, attempt 1 { is: 'retry', whose: 'later', code: '451', reply: 'busy' } after 0 ms, begun by b, b gets it, attempt 1 { is: 'rejected', scope: 'country', code: 'country', reply: '' } after 0 ms | a retry 451 busy, b rejected country  | { settlement: { to: 'queued', dueAt: 500, ambiguous: 0 }, ran: true }",
  ],
  'the recipient may have no more by either': [
    [{ send: LIMIT }, { send: LIMIT }],
    {},
    "begun by a, a gets it, attempt 1 { is: 'limit', scope: 'recipient', code: 'hour', reply: '', retryAfterMs: 60000 } after 0 ms, begun by b, b gets it, attempt 1 { is: 'limit', scope: 'recipient', code: 'hour', reply: '', retryAfterMs: 60000 } after 0 ms | a limit hour , b limit hour  | { settlement: { to: 'queued', dueAt: 60500, ambiguous: 0 }, ran: true }",
  ],
  'the first is busy, and by the second the recipient may have no more': [
    [{ send: LATER }, { send: LIMIT }],
    {},
    "begun by a, a gets it, attempt 1 { is: 'retry', whose: 'later', code: '451', reply: 'busy' } after 0 ms, begun by b, b gets it, attempt 1 { is: 'limit', scope: 'recipient', code: 'hour', reply: '', retryAfterMs: 60000 } after 0 ms | a retry 451 busy, b limit hour  | { settlement: { to: 'queued', dueAt: 500, ambiguous: 0 }, ran: true }",
  ],
  'the recipient is refused by the first': [
    [{ send: { ...COUNTRY, scope: 'recipient' } }, {}],
    {},
    "begun by a, a gets it, attempt 1 { is: 'rejected', scope: 'recipient', code: 'country', reply: '' } after 0 ms | a rejected country  | { settlement: { to: 'final', state: 'refused', answer: 'recipient' }, ran: true }",
  ],
  'it does not fit the first, and nobody knows what became of it at the second': [
    [{ fits: 'no template' }, { send: AMBIGUOUS }],
    {},
    "begun by b, b gets it, attempt 1 { is: 'ambiguous', code: 'reply-limit', reply: '' } after 0 ms | a skipped no-carrier-fits no template, b ambiguous reply-limit  | { settlement: { to: 'queued', dueAt: 5500, ambiguous: 1, canBeAsked: false }, ran: true }",
  ],
  'one SMS by the second, which never came, and nobody takes now': [
    [{ send: LATER }, { lookUp: ABSENT, send: LATER }],
    { ambiguous: 1, ambiguousAt: 'b' },
    "begun by b, b is asked about it since 0, b gets it, attempt 1 { is: 'retry', whose: 'later', code: '451', reply: 'busy' } after 0 ms, begun by a, a gets it, attempt 1 { is: 'retry', whose: 'later', code: '451', reply: 'busy' } after 0 ms | b looked-up absent never taken, b retry 451 busy, a retry 451 busy | { settlement: { to: 'queued', dueAt: 500, ambiguous: 0 }, ran: true }",
  ],
  'it cannot be rendered': [
    [{}, {}],
    { cannotRender: true },
    "attempt 1 { is: 'retry', whose: 'ours', code: 'RENDER', reply: 'cannot be rendered: TypeError; look at the templates' } after 0 ms | a retry RENDER cannot be rendered: TypeError; look at the templates | { settlement: { to: 'queued', dueAt: 500, ambiguous: 0 }, ran: true }",
  ],
  'none fits': [
    [{ fits: 'no template' }, { fits: new RangeError('secret') }],
    {},
    "attempt 1 { is: 'retry', whose: 'ours', code: 'no-carrier-fits', reply: 'a: no template; b: cannot be rendered: RangeError; look at the templates', untouched: true } after 0 ms | a skipped no-carrier-fits no template, b skipped RENDER cannot be rendered: RangeError; look at the templates | { settlement: { to: 'queued', dueAt: 500, ambiguous: 0 }, ran: true }",
  ],
  'no route': [
    [],
    {},
    "attempt 1 { is: 'retry', whose: 'ours', code: 'no-carrier-fits', reply: 'no route leads to its country', untouched: true } after 0 ms |  | { settlement: { to: 'queued', dueAt: 500, ambiguous: 0 }, ran: true }",
  ],
  'a newer code came to another process': [
    [{}],
    { begins: { undefined: 'outdated' } },
    "begun by undefined |  | { settlement: { to: 'queued', dueAt: 0, uncounted: true }, ran: false }",
  ],
  'the store cannot note that it begins': [
    [{ send: LATER }, {}],
    { begins: { a: new StoreUnavailable(quote('away')) } },
    "begun by a, store-failed |  | { settlement: { to: 'queued', dueAt: 0, uncounted: true }, ran: false }",
  ],
  'the store cannot note that the second begins': [
    [{ send: LATER }, {}, {}],
    { begins: { b: new StoreUnavailable(quote('away')) } },
    "begun by a, a gets it, attempt 1 { is: 'retry', whose: 'later', code: '451', reply: 'busy' } after 0 ms, begun by b, store-failed | a retry 451 busy | { settlement: { to: 'queued', dueAt: 500, ambiguous: 0 }, ran: true }",
  ],
  'one SMS by the first, whose number may have no more': [
    [{ send: LIMIT }, {}],
    { ambiguous: 1, ambiguousAt: 'a' },
    "begun by a, a gets it, attempt 1 { is: 'limit', scope: 'recipient', code: 'hour', reply: '', retryAfterMs: 60000 } after 0 ms | a limit hour  | { settlement: { to: 'queued', dueAt: 60500, ambiguous: 1 }, ran: true }",
  ],
  'one SMS by one that is not configured any more': [
    [{ lookUp: ABSENT, send: AMBIGUOUS }],
    { ambiguous: 1, ambiguousAt: 'gone' },
    "begun by undefined, a gets it, attempt 1 { is: 'ambiguous', code: 'reply-limit', reply: '' } after 0 ms | a ambiguous reply-limit  | { settlement: { to: 'queued', dueAt: 22000, ambiguous: 2, canBeAsked: true }, ran: true }",
  ],
  'one mail by the first, which has it': [
    [{ lookUp: { is: 'accepted', reply: quote('found') } }, {}],
    { channel: 'email', ambiguous: 3, ambiguousAt: 'a', attempts: 7 },
    "begun by a, a is asked about it since 0, attempt 7 { is: 'sent', reply: 'found' } after 0 ms | a looked-up accepted found, a sent  found | { settlement: { to: 'final', state: 'sent', answer: null, providerId: undefined }, ran: true }",
  ],
  'all carriers rest: it stays due, and what else goes there waits, too': [
    [{ failed: 5 }, { failed: 5 }],
    {},
    " |  | { settlement: { to: 'queued', dueAt: 0, uncounted: true }, ran: false, rest: { until: 2000, reply: 'left alone for a while: it keeps failing, or asked for a pause' } }",
  ],
  'its carrier rests, and the other one cannot send it': [
    [{ failed: 5 }, { fits: 'no template' }],
    {},
    " |  | { settlement: { to: 'queued', dueAt: 2500, uncounted: true }, ran: false }",
  ],
  'the second rests, the first is busy': [
    [{ send: LATER }, { failed: 5 }],
    { purpose: 'link' },
    "begun by a, a gets it, attempt 1 { is: 'retry', whose: 'later', code: '451', reply: 'busy' } after 0 ms | a retry 451 busy, b skipped circuit-open left alone for a while: it keeps failing, or asked for a pause | { settlement: { to: 'queued', dueAt: 2500, ambiguous: 0 }, ran: true }",
  ],
  'its template is refused': [
    [{ send: REVIEW }],
    { lifeMs: 4000 },
    "begun by undefined, a gets it, partial-fault, attempt 1 { is: 'retry', whose: 'ours', scope: 'template', code: 'review', reply: '', retryAfterMs: 3500 } after 0 ms | a retry review  | { settlement: { to: 'queued', dueAt: 3000, ambiguous: 0 }, ran: true }",
  ],
  'the provider throws': [
    [{ send: new Error('a bug') }],
    {},
    "begun by undefined, a gets it, fault, attempt 1 { is: 'ambiguous', code: 'FAULT', reply: 'an unexpected fault in the provider' } after 0 ms | a ambiguous FAULT an unexpected fault in the provider | { settlement: { to: 'queued', dueAt: 5500, ambiguous: 1, canBeAsked: false }, ran: true }",
  ],
  'it was stopped before anything was written': [
    [{ send: ABORTED }, {}],
    { isStopping: true },
    "begun by a, a gets it, attempt 1 { is: 'retry', whose: 'later', code: 'aborted', reply: '', untouched: true } after 0 ms |  | { settlement: { to: 'queued', dueAt: 0, uncounted: true }, ran: true }",
  ],
  'it was stopped later': [
    [{ send: { ...ABORTED, untouched: false } }],
    { isStopping: true },
    "begun by undefined, a gets it, attempt 1 { is: 'retry', whose: 'later', code: 'aborted', reply: '', untouched: false } after 0 ms | a retry aborted  | { settlement: { to: 'queued', dueAt: 500, ambiguous: 0 }, ran: true }",
  ],
  'a process that ends asks no further one': [
    [{ send: LATER }, {}],
    { isStopping: true },
    "begun by a, a gets it, attempt 1 { is: 'retry', whose: 'later', code: '451', reply: 'busy' } after 0 ms | a retry 451 busy | { settlement: { to: 'queued', dueAt: 500, ambiguous: 0 }, ran: true }",
  ],
  'two SMS may have gone out': [
    [{}],
    { ambiguous: 2, ambiguousAt: 'a' },
    " |  | { settlement: { to: 'final', state: 'unknown', answer: null }, ran: false }",
  ],
  'four mails may have gone out': [
    [{}],
    { channel: 'email', ambiguous: 4, ambiguousAt: 'a' },
    " |  | { settlement: { to: 'final', state: 'unknown', answer: null }, ran: false }",
  ],
  'one SMS by the second, which was taken': [
    [{}, { lookUp: { is: 'accepted', reply: quote('found'), providerId: 'P2' } }],
    { ambiguous: 1, ambiguousAt: 'b' },
    "begun by b, b is asked about it since 0, attempt 1 { is: 'sent', reply: 'found', providerId: 'P2' } after 0 ms | b looked-up accepted found, b sent  found | { settlement: { to: 'final', state: 'sent', answer: null, providerId: 'P2' }, ran: true }",
  ],
  'one SMS by the second, which never came': [
    [{}, { lookUp: ABSENT, send: LATER }],
    { ambiguous: 1, ambiguousAt: 'b' },
    "begun by b, b is asked about it since 0, b gets it, attempt 1 { is: 'retry', whose: 'later', code: '451', reply: 'busy' } after 0 ms, begun by a, a gets it, attempt 1 { is: 'sent', reply: 'ok', providerId: 'P1' } after 0 ms | b looked-up absent never taken, b retry 451 busy, a sent  ok | { settlement: { to: 'final', state: 'sent', answer: null, providerId: 'P1' }, ran: true }",
  ],
  'one SMS by the second, which does not know': [
    [{}, { lookUp: NOT_KNOWN, send: AMBIGUOUS }],
    { ambiguous: 1, ambiguousAt: 'b' },
    "begun by b, b is asked about it since 0, b gets it, attempt 1 { is: 'ambiguous', code: 'reply-limit', reply: '' } after 0 ms | b looked-up not-known not there yet, b ambiguous reply-limit  | { settlement: { to: 'queued', dueAt: 22000, ambiguous: 2, canBeAsked: true }, ran: true }",
  ],
  'two SMS by the second, which does not know': [
    [{}, { lookUp: NOT_KNOWN }],
    { ambiguous: 2, ambiguousAt: 'b' },
    "begun by b, b is asked about it since 0, attempt 1 { is: 'retry', whose: 'later', code: 'not-known-yet', reply: 'the provider does not know yet what became of it' } after 0 ms | b looked-up not-known not there yet, b retry not-known-yet the provider does not know yet what became of it | { settlement: { to: 'queued', dueAt: 500, ambiguous: 2 }, ran: true }",
  ],
  'one SMS by the second, which cannot be asked now': [
    [{}, { lookUp: { is: 'unreachable', reply: quote('down') } }],
    { ambiguous: 1, ambiguousAt: 'b' },
    "begun by b, b is asked about it since 0, attempt 1 { is: 'retry', whose: 'later', code: 'look-up', reply: 'down', untouched: true } after 0 ms | b looked-up unreachable down, b retry look-up down | { settlement: { to: 'queued', dueAt: 500, ambiguous: 1 }, ran: true }",
  ],
  'one SMS by the second, which rests': [
    [{}, { failed: 5 }],
    { ambiguous: 1, ambiguousAt: 'b' },
    " |  | { settlement: { to: 'queued', dueAt: 2500, uncounted: true }, ran: false }",
  ],
  'one SMS that fits its carrier no more and never came': [
    [{ lookUp: ABSENT, fits: 'no template' }, {}],
    { ambiguous: 1, ambiguousAt: 'a' },
    "begun by a, a is asked about it since 0, attempt 1 { is: 'retry', whose: 'ours', code: 'no-carrier-fits', reply: 'no template', untouched: true } after 0 ms, begun by b, b gets it, attempt 1 { is: 'sent', reply: 'ok', providerId: 'P1' } after 0 ms | a looked-up absent never taken, a retry no-carrier-fits no template, b sent  ok | { settlement: { to: 'final', state: 'sent', answer: null, providerId: 'P1' }, ran: true }",
  ],
  'one SMS of which nobody knows by whom': [
    [{ send: LATER }, {}],
    { ambiguous: 1 },
    "begun by a, a gets it, attempt 1 { is: 'retry', whose: 'later', code: '451', reply: 'busy' } after 0 ms | a retry 451 busy | { settlement: { to: 'queued', dueAt: 500, ambiguous: 1 }, ran: true }",
  ],
  'one mail by the first, and the second is busy': [
    [{}, { send: LATER }],
    { channel: 'email', ambiguous: 1, ambiguousAt: 'a' },
    "begun by b, b gets it, attempt 1 { is: 'retry', whose: 'later', code: '451', reply: 'busy' } after 0 ms, begun by a, a gets it, attempt 1 { is: 'sent', reply: 'ok', providerId: 'P1' } after 0 ms | b retry 451 busy, a sent  ok | { settlement: { to: 'final', state: 'sent', answer: null, providerId: 'P1' }, ran: true }",
  ],
}

for (const [what, [says, given, said]] of Object.entries(ROWS))
  t.test(what, async t => t.same((await attempt(says, given)).said, said))
