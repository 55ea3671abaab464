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
  /** What came of its attempts before; it is tried from the sixth one on. */
  readonly failed?: readonly Outcome[]
}

interface Given extends Omit<Partial<RoutedJob>, 'message'>, Pick<Sample, 'channel' | 'purpose' | 'lifeMs'> {
  /** What the store says when the attempt is noted, by the carrier; `undefined` is the name of one that is alone. */
  readonly begins?: Readonly<Record<string, 'outdated' | StoreUnavailable>>
  /** How long the store takes to note the attempt, ms. */
  readonly stallMs?: number
  readonly isStopping?: boolean
  readonly cannotRender?: boolean
}

/** Makes one attempt by these carriers. @returns all that comes of it, moments are ms from now; and what is under way with each afterwards */
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
  const all = says.map(({ send = SENT, fits, lookUp, failed = [] }, at): Carrier => {
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
          time.runUntil(time.now() + 30)
          if (send instanceof Error) throw send
          return send
        },
        ...(lookUp && {
          async lookUp(_outgoing, since) {
            log.push(`${name} is asked about it since ${since}`)
            time.runUntil(time.now() + 7)
            return lookUp
          },
        }),
        verify: async () => ({ ok: true, detail: '' }),
        close: async () => {},
      },
      { clock, random: () => 0.5 },
    )
    const { message } = sample(clock)
    for (const [n, each] of failed.entries())
      carrier.begin(n < 5 ? 0 : 2000, message, rendered(message)).end(each)
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
        noteAsked: (_message: unknown, name: string) => log.push(`${name} is noted`),
        noteEnd: (_message: unknown, name: string, { is }: Outcome, mayBeSent: boolean) =>
          log.push(`${name} noted as ${is}${mayBeSent ? ', maybe sent before' : ''}`),
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
        if (event.type !== 'attempt')
          return log.push(event.type === 'partial-fault' ? inLine(event) : event.type)
        const { attempts, tookMs, outcome, provider } = event
        log.push(`attempt ${attempts} by ${provider} ${inLine(outcome)} after ${tookMs} ms`)
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
    ({ at, tookMs, provider, outcome, code, reply, ofRecipient }) =>
      `${at}+${tookMs} ${provider} ${outcome} ${code} ${String(unpackWords(reply))}${ofRecipient ? ' (of recipient)' : ''}`,
  )
  const said = [log.join(', '), timeline.join(', '), inLine({ ...result, settlement })].join(' | ')
  return { said, under: all.map(each => each.status(time.now()).inFlight) }
}

const inLine = (value: unknown): string => inspect(inEnglish(value), { breakLength: Infinity })

const LIMIT: Outcome = { is: 'limit', scope: 'recipient', code: 'hour', reply: '', retryAfterMs: 60_000 }
const COUNTRY = { is: 'rejected', scope: 'country', code: 'country', reply: '' } as const
const LAST: RoutedJob['demotions'] = [{ provider: 'a', code: 'reports-bad', reply: quote('r') }]
const DOWN = [REFUSED, REFUSED, REFUSED, REFUSED, REFUSED]
const ABSENT: LookUp = { is: 'absent', reply: quote('never taken') }
const NOT_KNOWN: LookUp = { is: 'not-known', reply: quote('not there yet') }

const ROWS: Readonly<Record<string, readonly [says: readonly Says[], given: Given, said: string]>> = {
  'one carrier takes it': [
    [{}],
    {},
    "begun by undefined, a is noted, a gets it, attempt 1 by a { is: 'sent', reply: 'ok', providerId: 'P1' } after 30 ms, a noted as sent | 0+30 a sent  ok | { settlement: { to: 'final', state: 'sent', answer: null, providerId: 'P1' }, ran: true }",
  ],
  'a store that stalls is no failure of the carrier, which one more would make rest': [
    [{ failed: DOWN.slice(1) }],
    { stallMs: 60_000 },
    "begun by undefined, a is noted, a gets it, attempt 1 by a { is: 'sent', reply: 'ok', providerId: 'P1' } after 30 ms, a noted as sent | 60000+30 a sent  ok | { settlement: { to: 'final', state: 'sent', answer: null, providerId: 'P1' }, ran: true }",
  ],
  'nor is one that stalls and fails, and no other one is asked then': [
    [{ failed: DOWN.slice(1) }, {}],
    { stallMs: 60_000, begins: { a: new StoreUnavailable(quote('no room')) } },
    "begun by a, store-failed |  | { settlement: { to: 'queued', dueAt: 60000, uncounted: true }, ran: false }",
  ],
  'the first is asked last': [
    [{}, { send: LATER }],
    { demotions: LAST },
    "begun by b, b is noted, b gets it, attempt 1 by b { is: 'retry', whose: 'later', code: '451', reply: 'busy' } after 30 ms, b noted as retry, begun by a, a is noted, a gets it, attempt 1 by a { is: 'sent', reply: 'ok', providerId: 'P1' } after 30 ms, a noted as sent | 0+0 a skipped reports-bad r, 0+30 b retry 451 busy, 30+30 a sent  ok | { settlement: { to: 'final', state: 'sent', answer: null, providerId: 'P1' }, ran: true }",
  ],
  'both refuse it for good, each for a reason of its own': [
    [{ send: { is: 'rejected', scope: 'message', code: 'words', reply: '' } }, { send: COUNTRY }],
    {},
    "begun by a, a is noted, a gets it, attempt 1 by a { is: 'rejected', scope: 'message', code: 'words', reply: '' } after 30 ms, a noted as rejected, begun by b, b is noted, b gets it, attempt 1 by b { is: 'rejected', scope: 'country', code: 'country', reply: '' } after 30 ms, b noted as rejected | 0+30 a rejected words , 30+30 b rejected country  (of recipient) | { settlement: { to: 'final', state: 'refused', answer: 'country' }, ran: true }",
  ],
  'the first is busy, the second refuses it for good': [
    [{ send: LATER }, { send: COUNTRY }],
    {},
    "begun by a, a is noted, a gets it, attempt 1 by a { is: 'retry', whose: 'later', code: '451', reply: 'busy' } after 30 ms, a noted as retry, begun by b, b is noted, b gets it, attempt 1 by b { is: 'rejected', scope: 'country', code: 'country', reply: '' } after 30 ms, b noted as rejected | 0+30 a retry 451 busy, 30+30 b rejected country  (of recipient) | { settlement: { to: 'queued', dueAt: 560, ambiguous: 0 }, ran: true }",
  ],
  'the recipient may have no more by either': [
    [{ send: LIMIT }, { send: LIMIT }],
    {},
    "begun by a, a is noted, a gets it, attempt 1 by a { is: 'limit', scope: 'recipient', code: 'hour', reply: '', retryAfterMs: 60000 } after 30 ms, a noted as limit, begun by b, b is noted, b gets it, attempt 1 by b { is: 'limit', scope: 'recipient', code: 'hour', reply: '', retryAfterMs: 60000 } after 30 ms, b noted as limit | 0+30 a limit hour  (of recipient), 30+30 b limit hour  (of recipient) | { settlement: { to: 'queued', dueAt: 60560, ambiguous: 0 }, ran: true }",
  ],
  'the first is busy, and by the second the recipient may have no more': [
    [{ send: LATER }, { send: LIMIT }],
    {},
    "begun by a, a is noted, a gets it, attempt 1 by a { is: 'retry', whose: 'later', code: '451', reply: 'busy' } after 30 ms, a noted as retry, begun by b, b is noted, b gets it, attempt 1 by b { is: 'limit', scope: 'recipient', code: 'hour', reply: '', retryAfterMs: 60000 } after 30 ms, b noted as limit | 0+30 a retry 451 busy, 30+30 b limit hour  (of recipient) | { settlement: { to: 'queued', dueAt: 560, ambiguous: 0 }, ran: true }",
  ],
  'the recipient is refused by the first': [
    [{ send: { ...COUNTRY, scope: 'recipient' } }, {}],
    {},
    "begun by a, a is noted, a gets it, attempt 1 by a { is: 'rejected', scope: 'recipient', code: 'country', reply: '' } after 30 ms, a noted as rejected | 0+30 a rejected country  (of recipient) | { settlement: { to: 'final', state: 'refused', answer: 'recipient' }, ran: true }",
  ],
  'it does not fit the first, and nobody knows what became of it at the second': [
    [{ fits: 'no template' }, { send: AMBIGUOUS }],
    {},
    "begun by b, b is noted, b gets it, attempt 1 by b { is: 'ambiguous', code: 'reply-limit', reply: '' } after 30 ms, b noted as ambiguous | 0+0 a skipped no-carrier-fits no template, 0+30 b ambiguous reply-limit  | { settlement: { to: 'queued', dueAt: 5530, ambiguous: 1, canBeAsked: false }, ran: true }",
  ],
  'one SMS by the second, which never came, and nobody takes now': [
    [{ send: LATER }, { lookUp: ABSENT, send: LATER }],
    { ambiguous: 2, ambiguousAt: 'b' },
    "begun by b, b is noted, b is asked about it since 0, b gets it, attempt 1 by b { is: 'retry', whose: 'later', code: '451', reply: 'busy' } after 37 ms, b noted as retry, begun by a, a is noted, a gets it, attempt 1 by a { is: 'retry', whose: 'later', code: '451', reply: 'busy' } after 30 ms, a noted as retry | 0+7 b looked-up absent never taken, 7+30 b retry 451 busy, 37+30 a retry 451 busy | { settlement: { to: 'queued', dueAt: 567, ambiguous: 0 }, ran: true }",
  ],
  'it cannot be rendered': [
    [{}, {}],
    { cannotRender: true, ambiguous: 1, attempts: 2 },
    "attempt 2 by a { is: 'retry', whose: 'ours', code: 'RENDER', reply: 'cannot be rendered: TypeError; look at the templates' } after 0 ms | 0+0 a retry RENDER cannot be rendered: TypeError; look at the templates | { settlement: { to: 'queued', dueAt: 1000, ambiguous: 1 }, ran: true }",
  ],
  'none fits': [
    [{ fits: 'no template' }, { fits: new RangeError('secret') }],
    { ambiguous: 1, ambiguousAt: 'gone', attempts: 3, demotions: LAST },
    "attempt 3 by b { is: 'retry', whose: 'ours', code: 'no-carrier-fits', reply: 'b: cannot be rendered: RangeError; look at the templates; a: no template', untouched: true } after 0 ms | 0+0 a skipped reports-bad r, 0+0 b skipped RENDER cannot be rendered: RangeError; look at the templates, 0+0 a skipped no-carrier-fits no template | { settlement: { to: 'queued', dueAt: 2000, ambiguous: 1 }, ran: true }",
  ],
  'no route': [
    [],
    {},
    "attempt 1 by  { is: 'retry', whose: 'ours', code: 'no-carrier-fits', reply: 'no route leads to its country', untouched: true } after 0 ms |  | { settlement: { to: 'queued', dueAt: 500, ambiguous: 0 }, ran: true }",
  ],
  'a newer code came to another process': [
    [{}],
    { begins: { undefined: 'outdated' } },
    "begun by undefined |  | { settlement: { to: 'queued', dueAt: 0, uncounted: true }, ran: false }",
  ],
  'the store cannot note that the second begins': [
    [{ send: LATER }, {}, {}],
    { begins: { b: new StoreUnavailable(quote('away')) } },
    "begun by a, a is noted, a gets it, attempt 1 by a { is: 'retry', whose: 'later', code: '451', reply: 'busy' } after 30 ms, a noted as retry, begun by b, store-failed | 0+30 a retry 451 busy | { settlement: { to: 'queued', dueAt: 530, ambiguous: 0 }, ran: true }",
  ],
  'one SMS by the first, whose number may have no more': [
    [{ send: LIMIT }, {}],
    { ambiguous: 1, ambiguousAt: 'a' },
    "begun by a, a is noted, a gets it, attempt 1 by a { is: 'limit', scope: 'recipient', code: 'hour', reply: '', retryAfterMs: 60000 } after 30 ms, a noted as limit, maybe sent before | 0+30 a limit hour  (of recipient) | { settlement: { to: 'queued', dueAt: 60530, ambiguous: 1 }, ran: true }",
  ],
  'one SMS by one that is not configured any more': [
    [{ lookUp: ABSENT, send: AMBIGUOUS }],
    { ambiguous: 1, ambiguousAt: 'gone' },
    "begun by undefined, a is noted, a gets it, attempt 1 by a { is: 'ambiguous', code: 'reply-limit', reply: '' } after 30 ms, a noted as ambiguous, maybe sent before | 0+30 a ambiguous reply-limit  | { settlement: { to: 'queued', dueAt: 22030, ambiguous: 2, canBeAsked: true }, ran: true }",
  ],
  'one mail by the first, which has it': [
    [{ lookUp: { is: 'accepted', reply: quote('found') } }, {}],
    { channel: 'email', ambiguous: 3, ambiguousAt: 'a', attempts: 7, stallMs: 11 },
    "begun by a, a is noted, a is asked about it since 0, attempt 7 by a { is: 'sent', reply: 'found' } after 7 ms, a noted as sent, maybe sent before | 11+7 a looked-up accepted found, 18+0 a sent  found | { settlement: { to: 'final', state: 'sent', answer: null, providerId: undefined }, ran: true }",
  ],
  'all carriers rest: it stays due, and what else goes there waits, too': [
    [{ failed: [...DOWN, REFUSED] }, { failed: DOWN }],
    {},
    " |  | { settlement: { to: 'queued', dueAt: 0, uncounted: true }, ran: false, rest: { until: 2000, reply: 'left alone for a while: it keeps failing, or asked for a pause' } }",
  ],
  'one rests, and the other one refuses its country': [
    [{ failed: [...DOWN, REFUSED] }, { failed: [{ ...REVIEW, scope: 'country' }] }],
    {},
    " | 0+0 a skipped circuit-open left alone for a while: it keeps failing, or asked for a pause, 0+0 b skipped part-refused left alone for a while: it refuses the country of this message | { settlement: { to: 'queued', dueAt: 0, uncounted: true }, ran: false, rest: { until: 2000, reply: 'left alone for a while: it refuses the country of this message' } }",
  ],
  'one rests, and the other one refuses its template': [
    [{ failed: DOWN }, { failed: [REVIEW] }],
    {},
    " | 0+0 a skipped circuit-open left alone for a while: it keeps failing, or asked for a pause, 0+0 b skipped part-refused left alone for a while: it refuses the template of this message | { settlement: { to: 'queued', dueAt: 2500, uncounted: true }, ran: false }",
  ],
  'its carrier rests, and the other one cannot send it': [
    [{ failed: DOWN }, { fits: 'no template' }],
    {},
    " |  | { settlement: { to: 'queued', dueAt: 2500, uncounted: true }, ran: false }",
  ],
  'the second rests, by the first the recipient may have no more': [
    [{ send: LIMIT }, { failed: DOWN }],
    { purpose: 'link' },
    "begun by a, a is noted, a gets it, attempt 1 by a { is: 'limit', scope: 'recipient', code: 'hour', reply: '', retryAfterMs: 60000 } after 30 ms, a noted as limit | 0+30 a limit hour  (of recipient), 30+0 b skipped circuit-open left alone for a while: it keeps failing, or asked for a pause | { settlement: { to: 'queued', dueAt: 4500, ambiguous: 0 }, ran: true }",
  ],
  'its template is refused': [
    [{ send: REVIEW }],
    { lifeMs: 4000 },
    "begun by undefined, a is noted, a gets it, { type: 'partial-fault', channel: 'sms', provider: 'a', is: 'begun', scope: 'template', name: 'SMS_1', kind: 'activation-code', since: 30, until: 2030, code: 'review', reply: '' }, attempt 1 by a { is: 'retry', whose: 'ours', scope: 'template', code: 'review', reply: '', retryAfterMs: 3500 } after 30 ms, a noted as retry | 0+30 a retry review  | { settlement: { to: 'queued', dueAt: 3000, ambiguous: 0 }, ran: true }",
  ],
  'the provider throws': [
    [{ send: new Error('a bug') }],
    {},
    "begun by undefined, a is noted, a gets it, fault, attempt 1 by a { is: 'ambiguous', code: 'FAULT', reply: 'an unexpected fault in the provider' } after 30 ms, a noted as ambiguous | 0+30 a ambiguous FAULT an unexpected fault in the provider | { settlement: { to: 'queued', dueAt: 5530, ambiguous: 1, canBeAsked: false }, ran: true }",
  ],
  'it was stopped before anything was written': [
    [{ send: ABORTED }, {}],
    { isStopping: true },
    "begun by a, a is noted, a gets it, attempt 1 by a { is: 'retry', whose: 'later', code: 'aborted', reply: '', untouched: true } after 30 ms, a noted as retry |  | { settlement: { to: 'queued', dueAt: 30, uncounted: true }, ran: true }",
  ],
  'it was stopped later': [
    [{ send: { ...ABORTED, untouched: false } }],
    { isStopping: true },
    "begun by undefined, a is noted, a gets it, attempt 1 by a { is: 'retry', whose: 'later', code: 'aborted', reply: '', untouched: false } after 30 ms, a noted as retry | 0+30 a retry aborted  | { settlement: { to: 'queued', dueAt: 530, ambiguous: 0 }, ran: true }",
  ],
  'a process that ends asks no further one': [
    [{ send: LATER }, {}],
    { isStopping: true },
    "begun by a, a is noted, a gets it, attempt 1 by a { is: 'retry', whose: 'later', code: '451', reply: 'busy' } after 30 ms, a noted as retry | 0+30 a retry 451 busy | { settlement: { to: 'queued', dueAt: 530, ambiguous: 0 }, ran: true }",
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
    "begun by b, b is noted, b is asked about it since 0, attempt 1 by b { is: 'sent', reply: 'found', providerId: 'P2' } after 7 ms, b noted as sent, maybe sent before | 0+7 b looked-up accepted found, 7+0 b sent  found | { settlement: { to: 'final', state: 'sent', answer: null, providerId: 'P2' }, ran: true }",
  ],
  'one SMS by the second, which does not know': [
    [{}, { lookUp: NOT_KNOWN, send: AMBIGUOUS }],
    { ambiguous: 1, ambiguousAt: 'b' },
    "begun by b, b is noted, b is asked about it since 0, b gets it, attempt 1 by b { is: 'ambiguous', code: 'reply-limit', reply: '' } after 37 ms, b noted as ambiguous, maybe sent before | 0+7 b looked-up not-known not there yet, 7+30 b ambiguous reply-limit  | { settlement: { to: 'queued', dueAt: 22037, ambiguous: 2, canBeAsked: true }, ran: true }",
  ],
  'two SMS by the second, which does not know': [
    [{}, { lookUp: NOT_KNOWN }],
    { ambiguous: 2, ambiguousAt: 'b' },
    "begun by b, b is noted, b is asked about it since 0, attempt 1 by b { is: 'retry', whose: 'later', code: 'not-known-yet', reply: 'the provider does not know yet what became of it' } after 7 ms, b noted as retry, maybe sent before | 0+7 b looked-up not-known not there yet, 7+0 b retry not-known-yet the provider does not know yet what became of it | { settlement: { to: 'queued', dueAt: 507, ambiguous: 2 }, ran: true }",
  ],
  'one SMS by the second, which cannot be asked now': [
    [{}, { lookUp: { is: 'unreachable', reply: quote('down') } }],
    { ambiguous: 1, ambiguousAt: 'b' },
    "begun by b, b is noted, b is asked about it since 0, attempt 1 by b { is: 'retry', whose: 'later', code: 'look-up', reply: 'down', untouched: true } after 7 ms, b noted as retry, maybe sent before | 0+7 b looked-up unreachable down, 7+0 b retry look-up down | { settlement: { to: 'queued', dueAt: 507, ambiguous: 1 }, ran: true }",
  ],
  'one SMS by the second, which rests': [
    [{}, { failed: DOWN }],
    { ambiguous: 1, ambiguousAt: 'b' },
    " |  | { settlement: { to: 'queued', dueAt: 2500, uncounted: true }, ran: false }",
  ],
  'one SMS that fits its carrier no more and never came': [
    [{ lookUp: ABSENT, fits: 'no template' }, {}],
    { ambiguous: 1, ambiguousAt: 'a' },
    "begun by a, a is noted, a is asked about it since 0, attempt 1 by a { is: 'retry', whose: 'ours', code: 'no-carrier-fits', reply: 'no template', untouched: true } after 7 ms, a noted as retry, begun by b, b is noted, b gets it, attempt 1 by b { is: 'sent', reply: 'ok', providerId: 'P1' } after 30 ms, b noted as sent | 0+7 a looked-up absent never taken, 7+0 a retry no-carrier-fits no template, 7+30 b sent  ok | { settlement: { to: 'final', state: 'sent', answer: null, providerId: 'P1' }, ran: true }",
  ],
  'one SMS of which nobody knows by whom': [
    [{ send: { ...REVIEW, scope: 'country' } }, {}],
    { ambiguous: 1 },
    "begun by a, a is noted, a gets it, { type: 'partial-fault', channel: 'sms', provider: 'a', is: 'begun', scope: 'country', name: '', kind: 'activation-code', since: 30, until: 2030, code: 'review', reply: '' }, attempt 1 by a { is: 'retry', whose: 'ours', scope: 'country', code: 'review', reply: '', retryAfterMs: 3500 } after 30 ms, a noted as retry, maybe sent before | 0+30 a retry review  | { settlement: { to: 'queued', dueAt: 4030, ambiguous: 1 }, ran: true }",
  ],
  'one mail by the first, and the second is busy': [
    [{}, { send: LATER }],
    { channel: 'email', ambiguous: 1, ambiguousAt: 'a' },
    "begun by b, b is noted, b gets it, attempt 1 by b { is: 'retry', whose: 'later', code: '451', reply: 'busy' } after 30 ms, b noted as retry, maybe sent before, begun by a, a is noted, a gets it, attempt 1 by a { is: 'sent', reply: 'ok', providerId: 'P1' } after 30 ms, a noted as sent, maybe sent before | 0+30 b retry 451 busy, 30+30 a sent  ok | { settlement: { to: 'final', state: 'sent', answer: null, providerId: 'P1' }, ran: true }",
  ],
}

for (const [what, [says, given, said]] of Object.entries(ROWS))
  t.test(what, async t => t.same(await attempt(says, given), { said, under: says.map(() => 0) }))
