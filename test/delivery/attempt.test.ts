import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t from 'tap'
import { type AttemptResult, createAttempts, type RoutedJob } from '../../src/delivery/attempt.ts'
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
  readonly lookUp?: LookUp | Error
  /** How long it takes for a message, and for a look-up, ms. */
  readonly takesMs?: number
  readonly looksMs?: number
  /** It has all of a message before it says something. */
  readonly hasAll?: boolean
  /** What it says when it is stopped; otherwise it does not notice. */
  readonly stopped?: Outcome
  /** What came of its attempts before, each of which was taken elsewhere; it is tried from the sixth one on. */
  readonly failed?: readonly Outcome[]
  /** So many other attempts are under way. */
  readonly busy?: number
}

interface Given extends Omit<Partial<RoutedJob>, 'message'>, Pick<Sample, 'channel' | 'purpose' | 'lifeMs'> {
  /** What the store says when the attempt is noted, by the carrier; `undefined` is the name of one that is alone. */
  readonly begins?: Readonly<Record<string, 'outdated' | Error>>
  /** How long the store takes to note the attempt, ms. */
  readonly stallMs?: number
  readonly isStopping?: boolean
  readonly cannotRender?: boolean
  /** Its bytes are there already. */
  readonly isFresh?: boolean
  /** The carriers of its route; all unless given. */
  readonly route?: string
  readonly hasReports?: boolean
  readonly repeatPausesMs?: readonly number[]
}

/** Makes one attempt by these carriers. @returns all that comes of it, moments are ms from now; and what is under way with each afterwards */
async function attempt(says: readonly Says[], given: Given = {}) {
  const {
    begins = {},
    stallMs = 0,
    isStopping = false,
    cannotRender = false,
    isFresh = false,
    lifeMs = 600_000,
    demotions = [],
    route = 'abc',
    hasReports = true,
    repeatPausesMs,
    ...job
  } = given
  const { channel = 'sms', purpose = 'code' } = given
  const time = createTimeline()
  const timers = installTimers(time)
  const clock = { now: time.now }
  const log: string[] = []
  const note = (what: string): void => void log.push(`${time.now()} ${what}`)
  const all = says.map((each, at): Carrier => {
    const { send = SENT, fits, lookUp, takesMs = 30, looksMs = 7, stopped, failed = [], busy = 0 } = each
    const name = 'abc'.charAt(at)
    /** Answers after so long, or when it is stopped. */
    const answer = <T>(said: T | Error, ms: number, signal: AbortSignal, whenStopped = stopped as T) =>
      new Promise<T>((resolve, reject) => {
        setTimeout(() => (said instanceof Error ? reject(said) : resolve(said)), ms)
        signal.addEventListener('abort', () => {
          note(`${name} is stopped`)
          if (whenStopped !== undefined) resolve(whenStopped)
        })
      })
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
        send(_outgoing, signal, onHandedOver) {
          note(`${name} gets it`)
          if (each.hasAll) onHandedOver?.()
          return answer(send, takesMs, signal)
        },
        ...(lookUp && {
          lookUp(_outgoing, since, signal) {
            note(`${name} is asked about it since ${since}`)
            return answer(lookUp, looksMs, signal, undefined)
          },
        }),
        verify: async () => ({ ok: true, detail: '' }),
        close: async () => {},
      },
      { clock, random: () => 0.5 },
    )
    for (const [n, outcome] of failed.entries()) {
      const { message } = sample(clock, outcome.is === 'sent' ? { recipient: 'bob@other.test' } : {})
      carrier.begin(n < 5 ? 0 : 2000, message, rendered(message)).end(outcome)
    }
    for (let n = 0; n < busy; n += 1) carrier.begin(0, sample(clock).message, rendered(sample(clock).message))
    return carrier
  })
  const attempts = createAttempts(
    {
      channel,
      carriers: all,
      route: () => all.filter(({ provider }) => route.includes(provider.name)),
      ...(hasReports && {
        reports: {
          order: (inOrder: readonly Carrier[]) => ({
            carriers: demotions.length > 0 ? inOrder.toReversed() : inOrder,
            demotions,
          }),
          noteAsked: (_message: unknown, name: string) => note(`${name} is noted`),
          noteEnd: (_message: unknown, name: string, { is }: Outcome, mayBeSent: boolean) =>
            note(`${name} noted as ${is}${mayBeSent ? ', maybe sent before' : ''}`),
        } as never,
      }),
    },
    {
      render(message) {
        if (cannotRender) throw new TypeError('no such template')
        return rendered(message)
      },
      outbox: {
        beginAttempt(_id: string, { token }: Lease, by?: string) {
          note(`${token} by ${by}`)
          time.runUntil(time.now() + stallMs)
          const said = begins[`${by}`]
          if (said instanceof Error) throw said
          return said && Promise.resolve(said)
        },
      } as never,
      clock,
      random: () => 0.5,
      emit(event) {
        if (event.type === 'store-failed')
          return note(`the store fails to ${event.doing}: ${event.error.message}`)
        if (event.type === 'fault') return note(`fault: ${event.error.message}`)
        if (event.type !== 'attempt') return note(inLine(event))
        const { attempts, tookMs, outcome, provider } = event
        note(`attempt ${attempts} by ${provider} ${inLine(outcome)} after ${tookMs} ms`)
      },
      attemptWithinMs: 60_000,
      repeatPausesMs,
      run: { isStopping },
    },
    () => {},
  )
  const { message } = sample(clock, { channel, purpose, lifeMs })
  const lease = { token: 'begun', until: 120_000 }
  const outgoing = isFresh ? rendered(message) : undefined
  let result: AttemptResult | undefined
  let isOver = false
  const routed = attempts.route({ message, lease, attempts: 1, ambiguous: 0, outgoing, ...job })
  const running = attempts.run(routed).then(
    ended => (result = ended),
    (error: Error) => note(`it throws: ${error.message}`),
  )
  void running.finally(() => (isOver = true))
  for (;;) {
    await new Promise(resolve => setImmediate(resolve))
    if (isOver) break
    time.runUntil(time.next())
  }
  timers.uninstall()
  const { records = [], ...settlement } = result?.settlement ?? {}
  const timeline = records.map(
    ({ at, tookMs, provider, outcome, code, reply, ofRecipient }) =>
      `| ${at}+${tookMs} ${provider} ${outcome} ${code} ${String(unpackWords(reply))}${ofRecipient ? ' (of recipient)' : ''}`,
  )
  const under = all.map(each => each.status(time.now()).inFlight)
  return [...log, ...timeline, `→ ${inLine({ ...result, settlement })}`, `under way: ${under.join()}`]
}

const inLine = (value: unknown): string => inspect(inEnglish(value), { breakLength: Infinity })

const LIMIT: Outcome = { is: 'limit', scope: 'recipient', code: 'hour', reply: '', retryAfterMs: 60_000 }
const COUNTRY = { is: 'rejected', scope: 'country', code: 'country', reply: '' } as const
const LAST: RoutedJob['demotions'] = [{ provider: 'a', code: 'reports-bad', reply: quote('r') }]
const DOWN = [REFUSED, REFUSED, REFUSED, REFUSED, REFUSED]
const USED = { is: 'limit', scope: 'account', code: 'day', reply: '', retryAfterMs: 3_600_000 } as const
const USED_UP = [USED, USED, USED, USED, USED] as const
const ABSENT: LookUp = { is: 'absent', reply: quote('never taken') }
/** A server that hangs, and one that has all of the message by then. */
const HANGS: Says = { takesMs: 40_000, stopped: { ...ABORTED, untouched: false } }
const HAS: Says = { takesMs: 40_000, hasAll: true, stopped: { ...AMBIGUOUS, code: 'aborted' } }
const NOT_KNOWN: LookUp = { is: 'not-known', reply: quote('not there yet') }

const ROWS: Readonly<Record<string, readonly [says: readonly Says[], given?: Given]>> = {
  'one carrier takes it': [[{}]],
  'a store that stalls is no failure of the carrier, which one more would make rest': [
    [{ failed: DOWN.slice(1) }],
    { stallMs: 60_000 },
  ],
  'nor is one that stalls and fails, and no other one is asked then': [
    [{ failed: DOWN.slice(1) }, {}],
    { stallMs: 60_000, begins: { a: new StoreUnavailable(quote('no room')) } },
  ],
  'the first is asked last': [[{}, { send: LATER }], { demotions: LAST }],
  'both refuse it for good, each for a reason of its own': [
    [{ send: { is: 'rejected', scope: 'message', code: 'words', reply: '' } }, { send: COUNTRY }],
  ],
  'the first is busy, the second refuses it for good': [[{ send: LATER }, { send: COUNTRY }]],
  'the recipient may have no more by either': [[{ send: LIMIT }, { send: LIMIT }]],
  'the first is busy, and by the second the recipient may have no more': [[{ send: LATER }, { send: LIMIT }]],
  'the recipient is refused by the first': [[{ send: { ...COUNTRY, scope: 'recipient' } }, {}]],
  'it does not fit the first, and nobody knows what became of it at the second': [
    [{ fits: 'no template' }, { send: AMBIGUOUS }],
  ],
  'one SMS by the second, which never came, and nobody takes now': [
    [{ send: LATER }, { lookUp: ABSENT, send: LATER }],
    { ambiguous: 2, ambiguousAt: 'b' },
  ],
  'it cannot be rendered': [[{}, {}], { cannotRender: true, ambiguous: 1, attempts: 2 }],
  'none fits': [
    [{ fits: 'no template' }, { fits: new RangeError('secret') }],
    { ambiguous: 1, ambiguousAt: 'gone', attempts: 3, demotions: LAST },
  ],
  'no route': [[]],
  'a newer code came to another process': [[{}], { begins: { undefined: 'outdated' } }],
  'the store cannot note that the second begins': [
    [{ send: LATER }, {}, {}],
    { begins: { b: new StoreUnavailable(quote('away')) } },
  ],
  'one SMS by the first, whose number may have no more': [
    [{ send: LIMIT }, {}],
    { ambiguous: 1, ambiguousAt: 'a' },
  ],
  'one SMS by one that is not configured any more': [
    [{ lookUp: ABSENT, send: AMBIGUOUS }],
    { ambiguous: 1, ambiguousAt: 'gone' },
  ],
  'one mail by the first, which has it': [
    [{ lookUp: { is: 'accepted', reply: quote('found') } }, {}],
    { channel: 'email', ambiguous: 3, ambiguousAt: 'a', attempts: 7, stallMs: 11 },
  ],
  'all carriers rest: it stays due, and what else goes there waits, too': [
    [{ failed: [...DOWN, REFUSED] }, { failed: DOWN }],
  ],
  'one rests, and the other one refuses its country': [
    [{ failed: [...DOWN, REFUSED] }, { failed: [{ ...REVIEW, scope: 'country' }] }],
  ],
  'one rests, and the other one refuses its template': [[{ failed: DOWN }, { failed: [REVIEW] }]],
  'its carrier rests, and the other one cannot send it': [[{ failed: DOWN }, { fits: 'no template' }]],
  'the second rests, by the first the recipient may have no more': [
    [{ send: LIMIT }, { failed: DOWN }],
    { purpose: 'link' },
  ],
  'its template is refused': [[{ send: REVIEW }], { lifeMs: 4000 }],
  'the provider throws': [[{ send: new Error('a bug') }]],
  'it was stopped before anything was written': [[{ send: ABORTED }, {}], { isStopping: true }],
  'it was stopped later': [[{ send: { ...ABORTED, untouched: false } }], { isStopping: true }],
  'a process that ends asks no further one': [[{ send: LATER }, {}], { isStopping: true }],
  'two SMS may have gone out': [[{}], { ambiguous: 2, ambiguousAt: 'a' }],
  'four mails may have gone out': [[{}], { channel: 'email', ambiguous: 4, ambiguousAt: 'a' }],
  'one SMS by the second, which was taken': [
    [{}, { lookUp: { is: 'accepted', reply: quote('found'), providerId: 'P2' } }],
    { ambiguous: 1, ambiguousAt: 'b' },
  ],
  'one SMS by the second, which does not know': [
    [{}, { lookUp: NOT_KNOWN, send: AMBIGUOUS }],
    { ambiguous: 1, ambiguousAt: 'b' },
  ],
  'two SMS by the second, which does not know': [
    [{}, { lookUp: NOT_KNOWN }],
    { ambiguous: 2, ambiguousAt: 'b' },
  ],
  'one SMS by the second, which cannot be asked now': [
    [{}, { lookUp: { is: 'unreachable', reply: quote('down') } }],
    { ambiguous: 1, ambiguousAt: 'b' },
  ],
  'one SMS by the second, which rests': [[{}, { failed: DOWN }], { ambiguous: 1, ambiguousAt: 'b' }],
  'one SMS that fits its carrier no more and never came': [
    [{ lookUp: ABSENT, fits: 'no template' }, {}],
    { ambiguous: 1, ambiguousAt: 'a' },
  ],
  'one SMS of which nobody knows by whom': [
    [{ send: { ...REVIEW, scope: 'country' } }, {}],
    { ambiguous: 1 },
  ],
  'one mail by the first, and the second is busy': [
    [{}, { send: LATER }],
    { channel: 'email', ambiguous: 1, ambiguousAt: 'a' },
  ],
  'the store fails in a way that nobody knows': [[{}], { begins: { undefined: new Error('a bug') } }],
  'it is fresh': [[{}], { isFresh: true, cannotRender: true }],
  'its route leads to the second alone, of which nobody judges the reports': [
    [{}, {}],
    { route: 'b', hasReports: false },
  ],
  'the first cannot be reached, and a process that ends asks no further one': [
    [{ send: REFUSED }, {}],
    { isStopping: true },
  ],
  'its route leads nowhere': [[{}], { route: '' }],
  'it can be rendered for none': [[{ fits: new TypeError('secret') }, { fits: new RangeError('secret') }]],
  'one SMS of which nobody knows by whom, and the first is asked last': [
    [{}, {}],
    { ambiguous: 1, demotions: LAST },
  ],
  'one SMS by the second, which never came, and the first is asked last': [
    [{}, { lookUp: ABSENT, send: LATER }, { send: LATER }],
    { ambiguous: 1, ambiguousAt: 'b', demotions: LAST },
  ],
  'one mail by the second, and the first is asked last': [
    [{}, {}, { send: LATER }],
    { channel: 'email', ambiguous: 1, ambiguousAt: 'b', demotions: LAST },
  ],
  'all places of the first are in use, and of the second, to which it is sent on': [
    [{ send: LIMIT, busy: 102 }, { busy: 102 }],
  ],
  'all places of the second are in use, and the third is asked': [[{ send: LATER }, { busy: 102 }, {}]],
  'its template is refused, and its life ends sooner than that is tried': [
    [{ failed: [REVIEW] }],
    { lifeMs: 3000 },
  ],
  'the first may be asked again when the second has said that the recipient may have no more': [
    [{ failed: DOWN }, { takesMs: 3000, send: LIMIT }],
  ],
  'nobody knows what became of it at the second, which cannot be asked': [
    [{ lookUp: ABSENT, send: LATER }, { send: AMBIGUOUS }],
    { repeatPausesMs: [7000] },
  ],
  'the carrier rests after it': [[{ failed: DOWN.slice(1), send: { ...REFUSED, reply: quote('gone') } }]],
  'the domain of a mail rests after it, which is told to nobody': [
    [{ failed: [SENT, AMBIGUOUS, AMBIGUOUS, AMBIGUOUS, AMBIGUOUS], send: AMBIGUOUS }],
    { channel: 'email' },
  ],
  'a look-up fails by a bug': [[{ lookUp: new Error('a bug') }], { ambiguous: 1, ambiguousAt: 'a' }],
  'a look-up never ends': [
    [{ lookUp: ABSENT, looksMs: 900_000 }, {}],
    { channel: 'email', ambiguous: 1, ambiguousAt: 'a' },
  ],
  'an attempt never ends': [[{ takesMs: 900_000 }], { purpose: 'link' }],
  'a mail that a hanging server has not, the only one': [[HANGS], { channel: 'email' }],
  'a mail that a hanging server has not, and another one takes it': [[HANGS, {}], { channel: 'email' }],
  'an SMS': [[HANGS, {}]],
  'a link that a hanging server has': [[HAS, {}], { channel: 'email', purpose: 'link' }],
  'a code that it has': [[HAS, {}], { channel: 'email' }],
  'a code that it has, whose life ends soon': [[HAS, {}], { channel: 'email', lifeMs: 13_000 }],
  'a code that it has, and says so when it is stopped': [
    [{ ...HAS, stopped: SENT }, {}],
    { channel: 'email' },
  ],
  'a code that it refuses when it is stopped': [
    [{ ...HANGS, failed: DOWN.slice(1), stopped: LATER }, {}],
    { channel: 'email' },
  ],
  'a code that hangs, and the other one rests': [[HANGS, { failed: USED_UP }], { channel: 'email' }],
  'a code that hangs, and the other one takes no more of its sender': [
    [HANGS, { failed: [{ ...USED_UP[0], scope: 'sender' }] }],
    { channel: 'email' },
  ],
  'a code that hangs, and one of the others takes it': [
    [HANGS, { fits: 'no template' }, {}],
    { channel: 'email' },
  ],
  'a code that hangs, and is asked about before': [
    [{ ...HANGS, lookUp: ABSENT, looksMs: 6000, takesMs: 30 }, {}],
    { channel: 'email', ambiguous: 1, ambiguousAt: 'a' },
  ],
}

/** What comes of each, one thing a line: what happens, and when; the timeline (|); the result (→); and what is under way then. */
const RECORD = readFileSync(join(import.meta.dirname, '../fixtures/attempts.txt'), 'utf8').split('\n\n')

for (const [what, [says, given]] of Object.entries(ROWS))
  t.test(what, async t => {
    const lines = [what, ...(await attempt(says, given))].map(each => each.trimEnd())
    t.equal(lines.join('\n  '), RECORD.find(each => each.startsWith(`${what}\n`))?.trimEnd())
  })
