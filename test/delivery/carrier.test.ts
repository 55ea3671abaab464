import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type CarrierAttempt, type CarrierEnd, createCarrier } from '../../src/delivery/carrier.ts'
import type { HealthChange } from '../../src/delivery/health.ts'
import { quote } from '../../src/language/sentence.ts'
import type { Outgoing } from '../../src/messages/message.ts'
import type { Outcome, Provider, ScopeNames } from '../../src/providers/provider.ts'
import { inEnglish } from '../language/english.ts'
import { installTimers } from './simulated-timers.ts'
import { createTimeline } from './simulation.ts'

const NAMES = new Map<string, ScopeNames>()
const PROVIDER: Provider = {
  name: 'smtp',
  channel: 'email',
  concurrency: 10,
  scopesOf: ({ id }) => NAMES.get(id) ?? {},
  send: async () => SENT,
  verify: async () => ({ ok: true, detail: '' }),
  close: async () => {},
}
const SENT: Outcome = { is: 'sent', reply: quote('250') }
const DENIED = {
  is: 'retry',
  whose: 'ours',
  scope: 'recipient',
  code: '554 5.7.1',
  reply: quote('relaying denied'),
} as const satisfies Outcome
const UNKNOWN: Outcome = { is: 'retry', whose: 'ours', code: '30007', reply: quote('filtered') }
const REVIEW = {
  is: 'retry',
  whose: 'ours',
  scope: 'template',
  code: 'isv.SMS_TEMPLATE_ILLEGAL',
  reply: quote('under review'),
} as const satisfies Outcome
const REFUSED: Outcome = { is: 'retry', whose: 'later', code: 'ECONNREFUSED', reply: '', untouched: true }
const THROTTLED: Outcome = { is: 'retry', whose: 'later', code: '429', reply: '', overload: 'requests' }
const AMBIGUOUS: Outcome = { is: 'ambiguous', code: 'reply-limit', reply: '' }
const ANN = { kind: 'login-code', recipient: 'ann@example.com', destination: 'D' }

const CONTENT = { params: {}, words: 'ours' } as const

/** A message that would use these names. */
function using(names: ScopeNames) {
  const id = JSON.stringify(names)
  NAMES.set(id, names)
  return {
    channel: 'email',
    id,
    to: 'a@x.test',
    raw: Buffer.from(''),
    content: CONTENT,
    expiresAt: 1,
  } as const
}
const PLAIN = using({})

function open() {
  let now = 0
  const carrier = createCarrier(PROVIDER, { clock: { now: () => now }, random: () => 0.5 })
  const begin = (message = ANN, names: ScopeNames = {}) => carrier.begin(now, message, using(names))
  return {
    carrier,
    pass(ms: number): void {
      now += ms
    },
    now: () => now,
    begin,
    /** Makes an attempt of a message of this kind that ends so. */
    attempt: (outcome: Outcome, kind = 'login-code') => begin({ ...ANN, kind }).end(outcome),
    /** The same of one that uses these names. */
    attemptOf: (outcome: Outcome, names: ScopeNames) => begin(ANN, names).end(outcome),
    mayAsk: (names: ScopeNames) => carrier.mayAsk(using(names), now),
    faults: () => carrier.status(now).partialFaults,
  }
}

t.test('what recipients meet, however many, delays nobody, and is for nobody to mend', async t => {
  for (const refusal of [DENIED, UNKNOWN]) {
    const { attempt, carrier, faults } = open()
    for (let n = 0; n < 40; n += 1)
      t.same(attempt(refusal, n % 2 ? 'login-code' : 'alarm'), {
        circuit: null,
        faults: [],
        outcome: refusal,
        tookMs: 0,
      })
    t.same(faults(), [])
    t.equal(carrier.mayAsk(PLAIN, 0), null)
    t.match(carrier.standing(0), { circuit: 'closed' })
  }
})

t.test('a refused template is left alone, and nothing else is', async t => {
  const { attemptOf, mayAsk, pass, now, faults, begin, carrier } = open()
  const forgotten = { template: 'SMS_2', sender: 'Example', country: 'CN' }
  const login = { ...forgotten, template: 'SMS_1' }
  const { outcome, circuit, faults: begun } = attemptOf(REVIEW, forgotten)
  t.match(begun, [{ is: 'begun', fault: { scope: 'template', name: 'SMS_2', kind: 'login-code', since: 0 } }])
  t.equal(circuit, null)
  t.match(outcome, { whose: 'ours', retryAfterMs: 3500 }, 'it comes back behind those that were not refused')
  t.match(mayAsk(forgotten), { until: 2000, code: 'part-refused', reply: /it refuses the template/ })
  t.equal(mayAsk(login), null)
  for (let n = 0; n < 20; n += 1) attemptOf({ ...REVIEW, code: 'cancelled', reply: quote('gone') }, forgotten)
  t.match(
    inEnglish(faults()),
    [{ code: 'cancelled', reply: 'gone', since: 0, until: 2000 }],
    'as it was said last',
  )
  t.match(mayAsk(forgotten), { until: 2000 }, 'only a trial makes the rest longer')
  t.equal(mayAsk(login), null)
  t.match(carrier.standing(now()), { circuit: 'closed' })

  pass(2000)
  t.equal(mayAsk(forgotten), null)
  const trial = begin(ANN, forgotten)
  t.match(mayAsk(forgotten), { until: 3000 }, 'one message tries it')
  trial.forget()
  t.equal(mayAsk(forgotten), null, 'a trial that never began is still to be made')
  attemptOf(REVIEW, forgotten)
  t.match(mayAsk(forgotten), { until: 6000 }, 'rests grow')
  carrier.allowTrialNow(now())
  t.equal(mayAsk(forgotten), null, 'what was mended is tried at once')
  begin(ANN, forgotten).end(REFUSED)
  t.equal(mayAsk(forgotten), null, 'an end that says nothing of it leaves it to the next')
  attemptOf(REVIEW, forgotten)
  t.match(mayAsk(forgotten), { until: 4000 }, 'and rests begin anew')
  t.match(attemptOf(SENT, forgotten).faults, [{ is: 'over' }])
  t.same(faults(), [])
})

t.test('what meets several faults waits for the last of them', async t => {
  const { attemptOf, mayAsk, pass } = open()
  const names = { template: 'A', sender: 'B', country: 'FR' }
  const expected: (readonly [number, string])[] = []
  for (const scope of ['template', 'sender', 'country'] as const) {
    attemptOf({ ...REVIEW, scope }, names)
    pass(500)
    const { until, reply = '' } = mayAsk(names) ?? {}
    expected.push([until ?? 0, String(reply)])
  }
  t.same(expected, [
    [2000, 'left alone for a while: it refuses the template of this message'],
    [2500, 'left alone for a while: it refuses the sender of this message'],
    [3000, 'left alone for a while: it refuses the country of this message'],
  ])
  pass(500)
  t.match(mayAsk(names), { until: 3000, reply: /country/ }, 'though a message may try the template')
  const other = open()
  other.carrier.begin(0, ANN, { ...PLAIN, to: 'bob@other.test' }).end(SENT)
  for (let n = 0; n < 5; n += 1) other.attempt(AMBIGUOUS)
  const reply = 'left alone for a while: mail to the domain of this message hangs, or fails'
  t.same(other.mayAsk({}), { until: 2000, code: 'part-refused', reply, isOfDestination: true })
})

t.test('where a provider says whether it approves, it is asked, and not a message', async t => {
  let now = 0
  let hindrance: 'is under review' | null | undefined = 'is under review'
  const asked: string[] = []
  const carrier = createCarrier(
    {
      ...PROVIDER,
      async findHindrance(scope, name) {
        asked.push(`${scope} ${name} at ${now}`)
        if (name === 'unknown') throw new Error('it does not answer')
        // Its answer comes after the rest has ended.
        now += 1600
        return hindrance
      },
    },
    { clock: { now: () => now }, random: () => 0.5 },
  )
  const names = { template: 'SMS_2', country: 'CN' }
  const mayAsk = (each: ScopeNames) => carrier.mayAsk(using(each), now)
  carrier.begin(0, ANN, using({ sender: 'unknown' })).end({ ...REVIEW, scope: 'sender' })
  carrier.begin(0, ANN, using(names)).end(REVIEW)
  carrier.begin(0, ANN, using({ country: 'FR' })).end({ ...REVIEW, scope: 'country' })
  t.notOk(await carrier.hasApproved())
  t.same(asked, [], 'not while it rests')
  for (now = 500; now < 100_000; now += 500) t.notOk(await carrier.hasApproved())
  t.match(carrier.status(now).partialFaults[1], { code: REVIEW.code, reply: 'is under review' })
  const ofIt = asked.filter(each => each.includes('SMS_2'))
  t.same(
    ofIt.map(each => Number(each.slice(18))),
    [500, 4600, 12_700, 27_800, 42_900, 58_000, 73_100, 88_200],
  )
  t.same(
    asked.filter(each => !each.includes('SMS_2')),
    ['sender unknown at 500'],
    'what cannot be known is asked once a rest, and left to a message',
  )
  t.equal(mayAsk({ sender: 'unknown' }), null)
  t.not(mayAsk(names), null)
  hindrance = null
  for (; now < 200_000 && !(await carrier.hasApproved()); now += 500);
  t.same([now, mayAsk(names)], [104_900, null], 'a message may try it')
  t.match(carrier.begin(now, ANN, using(names)).end(SENT).faults, [{ is: 'over' }])
  carrier.begin(now, ANN, using(names)).end(REVIEW)
  carrier.allowTrialNow(now)
  carrier.begin(now, ANN, using(names))
  const before = asked.length
  await carrier.hasApproved()
  t.equal(asked.length, before, 'nor while a message tries it')
})

t.test(
  'a refusal that ends its message opens nothing, and without a name all messages share one sender',
  async t => {
    const { attemptOf, mayAsk, faults } = open()
    const refusal = { is: 'rejected', code: '21408', reply: '' } as const
    for (const scope of ['country', 'template'] as const) attemptOf({ ...refusal, scope }, { country: 'FR' })
    t.equal(mayAsk({ country: 'FR' }), null)
    t.match(faults(), [{ scope: 'template', until: null }], 'though that a value does not fit is told')
    attemptOf({ ...REVIEW, scope: 'sender' }, { country: 'FR' })
    t.match(mayAsk({ country: 'ES' }), { until: 2000 })
  },
)

/** What carriers say, by a word. */
const SAYS: Readonly<Record<string, Outcome>> = {
  sent: SENT,
  hangs: AMBIGUOUS,
  refused: REFUSED,
  busy: { ...REFUSED, code: '421', overload: 'connections' },
  throttled: { ...REFUSED, code: '429', overload: 'requests', retryAfterMs: 1000 },
  review: REVIEW,
  country: { ...REVIEW, scope: 'country' },
  unknown: { is: 'rejected', scope: 'recipient', code: '21211', reply: '' },
  sender: { is: 'limit', scope: 'sender', code: 'day', reply: '', retryAfterMs: 90_000 },
  aborted: { ...REFUSED, code: 'aborted' },
  locked: { ...REVIEW, scope: 'account', code: '535' },
}

/** A message of this kind to a mailbox (kind@domain) or a country (kind+country), by a template after a slash, or one that has no name. */
function messageTo(where: string) {
  const [to = '', id = ''] = where.split('/')
  const [kind = '', destination = ''] = to.split(/@(?!.*@)|\+/)
  const channel = to.includes('+') ? 'sms' : 'email'
  const outgoing = { ...PLAIN, channel, country: destination, to, id } as unknown as Outgoing
  return { message: { kind, destination: `there ${destination}` }, outgoing }
}

const BY_NAME: Provider = {
  ...PROVIDER,
  scopesOf({ id, ...outgoing }) {
    if (id === 'nameless') throw new TypeError('no such template')
    return id === '' ? {} : { template: id, country: 'country' in outgoing ? outgoing.country : '' }
  },
}

/** Plays a line: the moment, a message, what is said to it, or to the oldest that is under way (…), how often. @returns the same with what comes of it */
function openPlay() {
  let now = 0
  const carrier = createCarrier(BY_NAME, { clock: { now: () => now }, random: () => 0.5 })
  const underWay: CarrierAttempt[] = []
  return (line: string): string => {
    const [step = ''] = line.split(' →')
    const [at, to = '', word = '', times = '1'] = step.trim().split(/ ×?/)
    now = Number(at)
    const { message, outgoing } = messageTo(to)
    const said = new Set<string>()
    for (let n = 0; n < Number(times); n += 1) {
      if (!word.startsWith('…')) underWay.unshift(carrier.begin(now, message, outgoing))
      const outcome = SAYS[word.replace('…', '')]
      const ended = outcome && (word.startsWith('…') ? underWay.pop() : underWay.shift())?.end(outcome)
      said.add(ended === undefined ? 'it is under way' : describeEnd(ended))
    }
    const { circuit, openUntil } = carrier.standing(now)
    const told = carrier.status(now).partialFaults.map(({ scope, name }) => ` | told of ${scope} ${name}`)
    const { until, code, isOfDestination } = carrier.mayAsk(outgoing, now) ?? {}
    const obstacle = code === undefined ? 'may be asked' : `${code} until ${until}`
    return `${step} → ${[...said].join('; ')} | ${circuit} until ${openUntil} | ${obstacle}${isOfDestination ? ' for all there' : ''}${told.join('')}`
  }
}

function describeEnd({ circuit, faults, outcome }: CarrierEnd): string {
  const told = faults.map(
    ({ is, fault: { scope, name, kind, since, until, code } }) =>
      `${scope} ${name} ${is} by ${kind} since ${since} until ${until} (${code})`,
  )
  if (circuit !== null) told.unshift(`it is ${circuit}`)
  if ('retryAfterMs' in outcome) told.push(`again after ${outcome.retryAfterMs} ms`)
  return told.join(', ') || 'nothing'
}

const RESTS = readFileSync(join(import.meta.dirname, '../fixtures/carrier-rests.txt'), 'utf8')

for (const recorded of RESTS.trimEnd().split('\n\n')) {
  const [what = '', ...lines] = recorded.split('\n')
  t.test(what, async t => t.same(lines.map(openPlay()), lines))
}

/** A carrier in virtual time. */
function openInTime(t: Test, concurrency: number) {
  const time = createTimeline()
  const timers = installTimers(time)
  t.teardown(timers.uninstall)
  const carrier = createCarrier({ ...PROVIDER, concurrency }, { clock: { now: time.now }, random: () => 0.5 })
  const overdue: HealthChange[] = []
  const place = (names: ScopeNames = {}) =>
    carrier.begin(time.now(), ANN, using(names), change => overdue.push(change))
  const begin = (names?: ScopeNames) => {
    const attempt = place(names)
    attempt.start()
    return attempt
  }
  return {
    carrier,
    place,
    begin,
    overdue,
    pass: (ms: number) => time.runUntil(time.now() + ms),
    now: time.now,
  }
}

t.test('what waits longer than its patience counts as failed, and gives its place away', async t => {
  const { carrier, begin, overdue, pass, now } = openInTime(t, 7)
  begin({ template: 'A' }).end(REVIEW)
  for (let n = 0; n < 5; n += 1) {
    const each = begin()
    pass(300)
    each.end(SENT)
  }
  const hanging = [1, 2, 3, 4, 5].map(() => begin())
  pass(1999)
  t.match(carrier.status(now()), { breaker: 'closed', awaitingReply: 0, inFlight: 5 })
  const young = begin()
  pass(1)
  t.match(
    overdue.map(({ circuit }) => circuit),
    [null, null, null, null, 'open'],
  )
  const since = { kind: 'login-code', since: 3500, until: 5500 }
  t.same(
    inEnglish(carrier.status(now())),
    {
      channel: 'email',
      provider: 'smtp',
      inFlight: 6,
      awaitingReply: 5,
      limit: 7,
      limitReason: 'most',
      limitWhy: 'as many as the settings allow',
      breaker: 'open',
      breakerUntil: 5500,
      fault: {
        scope: 'carrier',
        name: '',
        ...since,
        code: 'attempt-limit',
        reply: 'the provider did not come back in time',
      },
      partialFaults: [
        {
          scope: 'template',
          name: 'A',
          kind: 'login-code',
          since: 0,
          until: 2000,
          code: 'isv.SMS_TEMPLATE_ILLEGAL',
          reply: 'under review',
        },
      ],
    },
    'they go on, and what it fails with is no reason for how many may',
  )
  young.forget()
  pass(500)
  t.equal(hanging[0]?.end(SENT).circuit, 'closed', 'a late answer takes it back')
  for (const each of hanging.slice(1)) t.equal(each.end(AMBIGUOUS).circuit, null)
  t.match(carrier.status(now()), { inFlight: 0, awaitingReply: 0, breaker: 'closed' })
})

t.test('the time before an attempt starts is not its own', async t => {
  const { carrier, place, overdue, pass, now } = openInTime(t, 5)
  const [marked, unmarked] = [place(), place()]
  pass(60_000)
  marked.start()
  unmarked.forget()
  pass(4999)
  t.match(carrier.status(now()), { inFlight: 1, awaitingReply: 0 })
  t.same([overdue.length, marked.end(SENT).tookMs, carrier.usualMs()], [0, 4999, 4999])
})

t.test('patience is four times what most took, from 2 s to 20 s, and 5 s at first', async t => {
  for (const [tookMs, slow, patienceMs] of [
    [null, 0, 5000],
    [10, 24, 2000],
    [10, 25, 20_000],
    [1000, 24, 4000],
    [8000, 24, 20_000],
  ] as const) {
    const { begin, overdue, pass } = openInTime(t, 20)
    const answer = (ms: number, outcome: Outcome = SENT): void => {
      const each = begin()
      pass(ms)
      each.end(outcome)
    }
    if (tookMs !== null) {
      for (let n = 0; n < 50; n += 1) answer(60_000)
      overdue.length = 0
      // It grows when half of the latest 50 are slow; none of the others is the middle one.
      for (let n = 0; n < 50; n += 1) answer(n >= 25 && n < 25 + slow ? 60_000 : tookMs)
      for (let n = 0; n < 50; n += 1) answer(60_000, n % 2 > 0 ? AMBIGUOUS : THROTTLED)
      overdue.length = 0
    }
    begin()
    pass(patienceMs - 1)
    t.equal(overdue.length, 0)
    pass(1)
    t.equal(overdue.length, 1)
  }
})

t.test('an answer that came while this process stood still is read before an attempt is overdue', async t => {
  const due: (() => void)[] = []
  const timers = installTimers({ ...createTimeline(), after: (_ms, happen) => void due.push(happen) })
  t.teardown(timers.uninstall)
  /** The process goes on: all timers that are due by now fire before an answer is read. */
  const goOn = (): void => due.splice(0).forEach(happen => happen())
  const carrier = createCarrier(PROVIDER, { clock: { now: () => 9000 }, random: () => 0.5 })
  let overdue = 0
  const attempts = [1, 2].map(() => carrier.begin(0, ANN, PLAIN, () => void (overdue += 1)))
  for (const each of attempts) each.start()
  goOn()
  t.equal(overdue, 0)
  attempts[0]?.end(SENT)
  goOn()
  t.equal(overdue, 1)
})

t.test('where enough go on beside those that count, the others hold their places', async t => {
  const { carrier, begin, overdue, pass, now } = openInTime(t, 200)
  const all = Array.from({ length: 101 }, () => begin())
  pass(5000)
  t.equal(overdue.length, 101, 'each counts as failed')
  t.match(carrier.status(now()), { inFlight: 101, awaitingReply: 91 })
  for (const each of all) each.end(AMBIGUOUS)
  t.match(carrier.status(now()), { inFlight: 0, awaitingReply: 0 })
})

t.test('a provider is back that could not be reached and now can', async t => {
  const found = ['up', 'down', undefined, 'up', 'up'] as const
  let asked = 0
  const carrier = createCarrier(
    { ...PROVIDER, probe: async () => found[asked++] ?? Promise.reject(new Error('it fails by a bug')) },
    { clock: { now: () => 0 }, random: () => 0.5 },
  )
  t.notOk(await carrier.isBack())
  for (let n = 0; n < 5; n += 1) carrier.begin(0, ANN, PLAIN).end(REFUSED)
  const isBack: (readonly [boolean, restsUntil: number])[] = []
  for (const _each of found) isBack.push([await carrier.isBack(), carrier.standing(0).openUntil])
  t.same(
    isBack,
    [
      [false, 2000],
      [false, 2000],
      [false, 2000],
      [true, 0],
      [false, 0],
    ],
    'not one that was there all the time, and refuses',
  )
  await Promise.all([carrier.isBack(), carrier.isBack()])
  t.equal(asked, 6, 'one look at a time')
})

t.test('while nothing is refused, nobody asks what a message would use', async t => {
  let asked = 0
  const provider = {
    ...PROVIDER,
    scopesOf() {
      asked += 1
      return { template: 'A' }
    },
  }
  const carrier = createCarrier(provider, { clock: { now: () => 0 }, random: () => 0.5 })
  t.equal(carrier.mayAsk(PLAIN, 0), null)
  carrier.begin(0, ANN, PLAIN).end(SENT)
  t.equal(asked, 0)
  carrier.begin(0, ANN, PLAIN).end(REVIEW)
  t.equal(asked, 1)
  t.match(carrier.mayAsk(PLAIN, 0), { code: 'part-refused' })
})
