import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { createCarrier } from '../../src/delivery/carrier.ts'
import { createDelivery } from '../../src/delivery/delivery.ts'
import type { Delivery } from '../../src/delivery/port.ts'
import { createVerdicts } from '../../src/delivery/verdicts.ts'
import { createEmitter } from '../../src/events/events.ts'
import type { Purpose } from '../../src/messages/message.ts'
import type { Outcome, Provider } from '../../src/providers/provider.ts'
import { inEnglish } from '../language/english.ts'
import { NOON, sample } from '../outbox/samples.ts'
import { enterVirtualTime, settled } from '../rigs/virtual-time.ts'
import { createModelOutbox } from './model-outbox.ts'
import { REFUSED, rendered, SENT } from './rig.ts'

/** What a carrier says to a message, and after how many ms. */
type Says = (code: string) => readonly [outcome: Outcome, tookMs: number]

interface Given extends Omit<Partial<Provider>, 'send'> {
  readonly says?: Says
  /** It has all of a message before it says something. */
  readonly hasAll?: boolean
}

const read = (name: string): readonly string[] =>
  readFileSync(join(import.meta.dirname, '../fixtures', name), 'utf8')
    .replaceAll(/^# .*\n/gm, '')
    .trimEnd()
    .split('\n\n')
/** What the channel reports in the middle of two of the tests. */
const [TRIED, BESIDE] = read('channel-status.txt')
/** What happens in some of them: when the store is asked for what, and who gets it. */
const [LATER, FULL, SERVERS, BY_NAME, TRIAL, OUTAGES, APPROVED, AWAY] = read('channel-records.txt')
const described = (delivery: Delivery): string =>
  inspect(inEnglish(delivery.status().slice(0, delivery.status().length / 2)), {
    breakLength: 120,
    depth: null,
  })

/** A channel in virtual time that looks each 500 ms, and each 1250 ms at a store that is empty. */
function open(t: Test, given: Readonly<Record<string, Given>> = { smtp: {} }, commitMs = 0) {
  const time = enterVirtualTime(t)
  /** The moments at which something was looked at, ms from the start. */
  const looked = new Set<number>()
  const clock = {
    now() {
      looked.add(time.now())
      return NOON + time.now()
    },
  }
  const store = { fails: false }
  const { outbox, model } = createModelOutbox(
    clock.now,
    async work => {
      if (commitMs > 0) await new Promise(resolve => setTimeout(resolve, commitMs))
      return work()
    },
    true,
    () => store.fails,
  )
  /** All that happens, each with its moment, ms from the start. */
  const log: string[] = []
  const note = (what: string, shown = what): void => {
    log.push(`${time.now()} ${what}`)
    moves.push(`${time.now()} ${shown}`)
  }
  /** When the store was asked for messages, ms from the start. */
  const claimed: number[] = []
  /** When it was asked for messages of the other channel, which gets none. */
  const claimedSms: number[] = []
  /** How many destinations each claim was to pass over. */
  const passedOver: number[] = []
  /** What the store is asked for, and what is sent, by where it goes. */
  const moves: string[] = []
  const domains = new Map<string, string>()
  const tell = (destinations: readonly string[]): string =>
    [...Map.groupBy(destinations, each => domains.get(each))]
      .map(([domain, { length }]) => (length > 1 ? `${length} ${domain}` : domain))
      .join()
  const signals: AbortSignal[] = []
  const takesAll: Says = () => [SENT, 0]
  const carriers = Object.entries(given).map(([name, { says = takesAll, hasAll = false, ...more }]) =>
    createCarrier(
      {
        name,
        channel: 'email',
        concurrency: 2,
        async send(outgoing, signal, onHandedOver) {
          signals.push(signal)
          if (hasAll) onHandedOver?.()
          const code = String(outgoing.content.params['code'])
          note(`${name} gets ${code}`, `${name} gets ${code.replace(/[\d ]*$/, '')}`)
          const [outcome, tookMs] = says(code)
          if (tookMs > 0) await new Promise(resolve => setTimeout(resolve, tookMs))
          return outcome
        },
        verify: async () => ({ ok: true, detail: '' }),
        close: async () => {},
        ...more,
      },
      { clock, random: () => 0.5 },
    ),
  )
  let leases = 0
  const verdicts = createVerdicts()
  const delivery = createDelivery({
    outbox: {
      ...outbox,
      async claim(channel, limit, leaseMs, passOver = [], codesOnly = false, named = []) {
        passedOver.push(passOver.length)
        if (limit > 0) (channel === 'email' ? claimed : claimedSms).push(time.now())
        const at = time.now()
        const claim = await outbox.claim(channel, limit, leaseMs, passOver, codesOnly, named)
        const which = `${codesOnly ? ' codes' : ''} of ${tell(named) || 'all'} but ${tell(passOver) || 'none'}`
        const found = tell(claim.messages.map(({ destination }) => destination)) || 'nothing'
        if (channel === 'email') moves.push(`${at} claims ${limit}${which}: ${found}`)
        return claim
      },
    },
    clock,
    random: () => 0.5,
    verdicts,
    emit: createEmitter([
      {
        fault: ({ error }) => t.fail(error.message),
        'store-failed': ({ doing }) => note(`the store fails to ${doing}`),
        breaker: ({ provider, state }) => note(`${provider} is ${state}`),
        'partial-fault': ({ provider, is, scope }) => note(`${provider} ${scope} ${is}`),
      },
    ]),
    channels: (['email', 'sms'] as const).flatMap(channel =>
      carriers.length === 0 ? [] : { channel, carriers, route: () => carriers },
    ),
    render: rendered,
    leaseMs: 120_000,
    attemptWithinMs: 60_000,
    pollMs: 500,
    idlePollMs: 1250,
    leaseToken: () => `lease ${(leases += 1)}`,
  })
  t.teardown(async () => {
    const stopped = delivery.stop(0, 0)
    await time.pass(10_000)
    await stopped
  })
  const saying = (code: string, purpose: Purpose, lifeMs: number) => {
    const recipient = `r${code.length}@${code.replaceAll(' ', '')}.test`
    const given = sample(clock, { recipient, code, purpose, lifeMs })
    domains.set(given.message.destination, code.replace(/[\d ]*$/, ''))
    return given
  }
  /** Has another process leave so many messages in the store. */
  async function leave(many: number, domain: string, purpose: Purpose = 'link') {
    for (let n = 0; n < many; n += 1) await outbox.accept([saying(domain + ' '.repeat(n), purpose, 600_000)])
  }
  let sent = 0
  /** Takes the road of a callback. @returns where the message is, its id, and whether nobody waits for its verdict */
  async function accept(code = `${(sent += 1)}`, purpose: Purpose = 'link', lifeMs = 600_000) {
    const plain = saying(code, purpose, lifeMs)
    const { message, groupKey } = plain
    const lease = delivery.reservePlace('email', purpose, message.destination)
    await outbox.accept([lease === undefined ? plain : { ...plain, lease }])
    let isFar = false
    verdicts.wait(message.id, ({ is }) => (isFar = is === 'pending'))
    delivery.submit({ message, lease, outgoing: rendered(message), groupKey })
    const told = { in: lease === undefined ? 'store' : 'memory', id: message.id, isFar }
    // One callback after the other: what each begins at once has begun.
    await settled()
    return told
  }
  const stateOf = (id: string) => {
    const { state, attempts, dueAt } = model.find(id) ?? {}
    return { state, attempts, dueAt: dueAt == null ? null : dueAt - NOON }
  }
  const taken = () => log.filter(each => each.includes(' gets ')).map(each => Number(each.split(' ')[0]))
  return {
    time,
    delivery,
    claimed,
    claimedSms,
    passedOver,
    moves,
    leave,
    taken,
    signals,
    accept,
    log,
    looked,
    stateOf,
    store,
    outbox,
    clock,
  }
}

/** The same after its first look at the store. */
async function openStarted(...given: Parameters<typeof open>) {
  const rig = open(...given)
  rig.delivery.start()
  await rig.time.pass(100)
  return rig
}

/** Says what happened, the same of one moment once, and of one moment the claims before what is sent. */
function tally(moves: readonly string[]): string {
  const rank = (move: string): number => Number.parseInt(move, 10) + (move.includes(' gets ') ? 0.5 : 0)
  const counted = Map.groupBy(
    moves.toSorted((a, b) => rank(a) - rank(b)),
    each => each,
  )
  return [...counted].map(([each, { length }]) => (length > 1 ? `${each} x${length}` : each)).join('\n')
}

/** Answers each message by the next of these, and then takes all. */
function inTurn(...outcomes: Outcome[]): Says {
  return () => [outcomes.shift() ?? SENT, 0]
}

t.test('a message that another process tried is told by its domain, too', async t => {
  const { time, delivery, outbox, clock } = open(t, { smtp: { says: () => [SENT, 900] } })
  const given = sample(clock, { recipient: '"r@s"@example.test', lifeMs: 600_000 })
  await outbox.accept([given, sample(clock, { channel: 'sms' })])
  for (const { id, lease } of (await outbox.claim('email', 1, 1000)).messages)
    await outbox.settle(id, lease, { to: 'queued', dueAt: clock.now() })
  delivery.start()
  await time.pass(100)
  const { destination } = given.message
  const known = { destination, place: 'example.test', inFlight: 1, waiting: 0, rest: null }
  t.same(delivery.status()[0]?.destinations[0], known)
  t.equal(delivery.status()[1]?.destinations[1]?.place, '+86')
})

t.test('of the latest thousand destinations it is told where they are', async t => {
  const { time, delivery, accept } = await openStarted(t, {
    smtp: { says: code => [SENT, code.includes(' ') ? 1000 : 0] },
  })
  const tellWaiting = () =>
    delivery.status()[0]?.destinations.flatMap(({ waiting, place }) => (waiting > 0 ? [place] : []))
  for (let n = 0; n < 1000; n += 1) await accept(`${n}`)
  for (const code of ['9 98', '9 99', '0 ']) await accept(code)
  t.same(tellWaiting(), ['0.test'])
  await time.pass(1500)
  for (const code of ['1000', '9 97', '1 ', '2 ']) await accept(code)
  t.same(tellWaiting(), [null, '2.test'])
})

t.test('a channel that is switched off asks the store each five seconds what is over', async t => {
  const { time, leave, moves } = await openStarted(t, {})
  await time.pass(7000)
  await leave(1, 'a')
  await time.pass(10_000)
  t.same(
    moves,
    [0, 5000, 10_000, 15_000].map(each => `${each} claims 0 of all but none: nothing`),
  )
})

t.test('the end waits for what is under way, stops it, and waits a little more', async t => {
  const { time, delivery, accept, signals } = await openStarted(t, { smtp: { says: () => [SENT, 60_000] } })
  await accept()
  let hasEnded = false
  void delivery.stop(1000, 300).then(() => (hasEnded = true))
  const states: unknown[] = []
  for (const ms of [999, 1, 299, 1]) {
    await time.pass(ms)
    states.push([signals[0]?.aborted, hasEnded])
  }
  t.same(states, [
    [false, false],
    [true, false],
    [true, false],
    [true, true],
  ])
})

t.test('what is sent makes no look at the store', async t => {
  const { time, delivery, claimed, taken, accept } = await openStarted(t)
  for (let n = 0; n < 10; n += 1) {
    await accept()
    await time.pass(100)
  }
  t.equal(taken().length, 10)
  await time.pass(3000)
  t.same(claimed, [0, 1250, 2500, 3750], 'the store was empty')
  await delivery.stop(0, 0)
  delivery.wake('email')
  await time.pass(10_000)
  t.equal(claimed.length, 4, 'after the end nobody looks')
  t.equal(delivery.reservePlace('email', 'code', ''), undefined, 'and nothing has a place')
})

t.test('a message begins at once that has a place with the carrier', async t => {
  const { delivery } = await openStarted(t, { smtp: { concurrency: 1 } })
  const leases = ['a', 'b'].map(each => delivery.reservePlace('email', 'code', each))
  t.same(leases, [
    { token: 'lease 1', until: NOON + 120_100, begins: true },
    { token: 'lease 2', until: NOON + 120_100, begins: false },
  ])
  for (const _ of leases) delivery.releasePlace('email')
})

t.test('a call that has ended in time is not aborted at its limit', async t => {
  const { time, signals, accept } = await openStarted(t)
  await accept()
  await time.pass(61_000)
  t.same(
    signals.map(({ aborted }) => aborted),
    [false],
  )
})

for (const [purpose, hasAll, stoppedAt] of [
  ['link', false, 5],
  ['code', true, 10],
  ['link', true, null],
] as const)
  t.test(
    `a ${purpose} that a hanging server has${hasAll ? '' : ' not'} is stopped after ${stoppedAt ?? 'no'} s`,
    async t => {
      const first = { says: (): ReturnType<Says> => [SENT, 600_000], hasAll }
      const { time, delivery, signals, accept } = open(t, { first, second: {} })
      delivery.start()
      await accept('1', purpose)
      await time.pass(500)
      let second = 0
      for (; second < 59 && signals[0]?.aborted !== true; second += 1) await time.pass(1000)
      t.equal(signals[0]?.aborted === true ? second : null, stoppedAt)
    },
  )

t.test('the pause before a copy begins when the server that may have the first one has failed', async t => {
  const stopped: Outcome = { is: 'retry', whose: 'later', code: 'aborted', reply: '' }
  const { time, delivery, accept, stateOf } = open(t, {
    first: { says: () => [stopped, 5200] },
    second: { says: () => [{ is: 'ambiguous', code: 'ECONNRESET', reply: '' }, 4000] },
  })
  delivery.start()
  const { id } = await accept('1', 'code')
  await time.pass(9300)
  t.match(stateOf(id), { state: 'queued', dueAt: 14_700 }, 'not when the server before it was given up')
})

t.test('what has a due time is claimed then, and until then the store is asked as usual', async t => {
  const later: Outcome = { is: 'limit', scope: 'recipient', code: '450', reply: '', retryAfterMs: 1200 }
  const { time, moves, accept, leave } = await openStarted(t, {
    smtp: { says: inTurn(later, SENT, SENT, SENT, later) },
  })
  for (const code of ['soon', 'x']) await accept(code)
  await time.pass(1900)
  await leave(2, 'left')
  await time.pass(1790)
  await accept('late')
  await time.pass(4000)
  t.equal(tally(moves), LATER)
})

t.test('what the store is asked for while it holds more than memory', async t => {
  const { time, delivery, moves, leave, accept } = open(t, {
    smtp: { concurrency: 20, says: code => [SENT, code.startsWith('slow') ? 3000 : 100] },
  })
  await leave(50, 'a')
  await leave(20, 'b')
  await leave(10, 'b', 'code')
  await time.pass(1500)
  delivery.start()
  await time.pass(1000)
  for (let n = 0; n < 60; n += 1) await accept(`known${n}`)
  await time.pass(970)
  await accept('slow' + ' '.repeat(80))
  await time.pass(30)
  for (let n = 0; n < 80; n += 1) {
    await accept('slow' + ' '.repeat(n))
    await accept('slower' + ' '.repeat(n), 'code')
    await accept(`new${n}`)
  }
  for (let n = 0; n < 60; n += 1) await accept(`known${n} `, n % 20 === 0 ? 'code' : 'link')
  await time.pass(4000)
  t.equal(tally(moves), FULL)
})

t.test('two servers fail one after the other, and come back', async t => {
  const down = new Set<string>()
  const server = (name: string): Given => ({
    probe: async () => {
      moves.push(`${time.now()} ${name} is ${down.has(name) ? 'gone' : 'there'}`)
      return down.has(name) ? 'down' : 'up'
    },
    says: () => [down.has(name) ? REFUSED : SENT, name === 'a' ? 100 : 150],
  })
  const { time, delivery, moves, accept } = await openStarted(t, { a: server('a'), b: server('b') })
  for (const code of ['k', 'l', 'm']) await accept(code, 'code')
  delivery.reservePlace('email', 'link', 'z')
  await time.pass(400)
  down.add('a')
  for (const code of ['n', 'o', 'p', 'q', 'k ', 'r']) await accept(code, 'code')
  await time.pass(2500)
  await accept('k  ', 'code')
  await time.pass(5500)
  down.add('b')
  for (const code of ['s', 'k   ', 't']) await accept(code, 'code')
  for (const link of ['v', 'w', 'l ']) await accept(link)
  t.equal(described(delivery), BESIDE)
  await time.pass(1500)
  await accept('x', 'code')
  await accept('m ')
  await time.pass(3000)
  for (const link of ['y', 'n ']) await accept(link)
  delivery.releasePlace('email')
  down.clear()
  await time.pass(9000)
  t.equal(tally(moves), SERVERS)
})

t.test('during a pause that the carrier asked for, nothing goes out, and then codes come first', async t => {
  const busy: Outcome = {
    is: 'retry',
    whose: 'later',
    code: '429',
    reply: '',
    overload: 'requests',
    retryAfterMs: 1000,
  }
  const { time, accept, log, looked } = await openStarted(t, { smtp: { says: inTurn(busy) } })
  await accept('link 0')
  await time.pass(100)
  for (const purpose of ['link', 'code'] as const) await accept(purpose, purpose)
  await time.pass(900)
  t.same([...looked], [0, 100, 200, 500, 700, 1000, 1100], 'nor is that looked at all the time')
  await time.pass(9100)
  t.same(log, ['100 smtp gets link 0', '1100 smtp gets code', '1100 smtp gets link', '3600 smtp gets link 0'])
})

t.test('while a carrier rests, and is tried, a verdict is far, and nothing else begins', async t => {
  const refusals = [REFUSED, REFUSED, REFUSED, REFUSED, REFUSED]
  const { time, delivery, accept, log } = await openStarted(t, {
    smtp: { says: code => [refusals.shift() ?? SENT, code === 'trial' ? 900 : 0] },
  })
  for (let n = 1; n <= 5; n += 1) {
    t.match(await accept(`${n}`, 'code'), { in: 'memory', isFar: false })
    await time.pass(1)
  }
  await time.pass(100)
  t.match(await accept('trial', 'code'), { in: 'store', isFar: true })
  await time.pass(2000)
  t.match(await accept('late', 'code'), { in: 'store', isFar: true })
  t.equal(described(delivery), TRIED)
  await time.pass(1000)
  t.equal(log.join('\n'), TRIAL)
})

t.test('of invented destinations that rest claims pass three hundred over', async t => {
  const country: Outcome = { is: 'retry', whose: 'ours', scope: 'country', code: '21408', reply: '' }
  const { time, delivery, accept, passedOver, stateOf } = await openStarted(t, {
    smtp: { says: () => [country, 0], scopesOf: ({ to }) => ({ country: to.slice(3) }) },
  })
  const ids: string[] = []
  for (let n = 0; n < 800; n += 1) ids.push((await accept(`${n % 400}${' '.repeat(n / 400)}`)).id)
  await time.pass(1500)
  const rest = delivery.status()[0]?.destinations.filter(each => each.rest !== null)
  t.same([rest?.length, Math.max(...passedOver)], [300, 300])
  const reply = 'left alone for a while: it refuses the country of this message'
  const known = { destination: 'XiVQc_TMjXJ', place: '0.test', inFlight: 0, waiting: 0 }
  t.same(inEnglish(rest?.[0]), { ...known, rest: { until: NOON + 2100, reply } })
  t.match(await accept('0 '), { in: 'store', isFar: true })
  t.same(
    [400, 750].map(n => stateOf(ids[n] ?? '').dueAt),
    [100, 2100],
    'the others wait by themselves',
  )
  delivery.tryNow('email')
  t.notOk(
    delivery.status()[0]?.destinations.some(each => each.rest !== null),
    'until somebody mends it',
  )
})

t.test(
  'what waits for known destinations goes before invented ones, whoever found no room in a claim',
  async t => {
    let isDown = false
    const { time, accept, moves } = await openStarted(t, {
      smtp: { says: () => [isDown ? REFUSED : SENT, 100] },
    })
    for (let n = 0; n < 60; n += 1) await accept(`known ${n}`)
    await time.pass(3000)
    isDown = true
    for (let n = 0; n < 5; n += 1) await accept(`down ${n}`)
    await time.pass(500)
    for (let n = 0; n < 60; n += 1) await accept(`known  ${n}`, n % 20 === 7 ? 'code' : 'link')
    for (let n = 0; n < 6; n += 1) await accept(`known   0${' '.repeat(n)}`)
    await time.pass(1000)
    for (let n = 0; n < 100; n += 1) await accept(`new ${n}`, n % 20 === 7 ? 'code' : 'link')
    isDown = false
    await time.pass(10_500)
    t.equal(tally(moves), BY_NAME)
  },
)

const REVIEW: Outcome = { is: 'retry', whose: 'ours', scope: 'template', code: '15', reply: '' }

t.test(
  'what waits for a carrier stays due, and goes out after a repair, which no code tries while another message waits',
  async t => {
    let isUp = false
    const { time, delivery, accept, log, stateOf } = await openStarted(t, {
      smtp: {
        scopesOf: ({ content }) => ({ template: content.params['code']?.split(' ')[0] ?? '' }),
        says: code => [isUp ? SENT : code.startsWith('denied') ? REVIEW : REFUSED, 10],
      },
    })
    for (const purpose of ['link', 'code'] as const) await accept(`denied ${purpose}`, purpose)
    await time.pass(100)
    for (let n = 1; n <= 6; n += 1) await accept(`${n}`, 'code')
    const waiting = [await accept('link'), await accept('code', 'code')]
    await time.pass(100)
    t.same(
      waiting.map(({ id }) => stateOf(id)),
      [
        { state: 'queued', attempts: 0, dueAt: 230 },
        { state: 'queued', attempts: 0, dueAt: 230 },
      ],
    )
    log.length = 0
    isUp = true
    delivery.tryNow('email')
    await time.pass(200)
    t.same(log, ['300 smtp gets link', '310 smtp is closed', '310 smtp gets code'])
  },
)

t.test('a template that is approved again is tried soon, and then used', async t => {
  let hindrance: 'is under review' | null = 'is under review'
  const { time, accept, log } = await openStarted(t, {
    smtp: {
      scopesOf: ({ content }) => ({ template: content.params['code'] === 'other' ? 'B' : 'A' }),
      findHindrance: async (scope, name) => {
        log.push(`${time.now()} asked about ${scope} ${name}`)
        return hindrance
      },
      says: code => [hindrance === null || code === 'other' ? SENT : REVIEW, 10],
    },
  })
  for (const code of ['1', '2']) await accept(code, 'code')
  await time.pass(100)
  for (const code of ['3', 'other']) await accept(code, 'code')
  await time.pass(20_000)
  hindrance = null
  await time.pass(20_000)
  t.equal(log.join('\n'), APPROVED)
})

t.test('a code that is due again goes first, though memory is full of what is none', async t => {
  const busy: Outcome = { is: 'retry', whose: 'later', code: '451', reply: '' }
  const answers = [busy]
  const { time, accept, taken, log } = await openStarted(t, {
    smtp: {
      says: code => [code === 'code' ? (answers.pop() ?? SENT) : SENT, code.startsWith('slow') ? 3000 : 1],
    },
  })
  for (let n = 0; n < 10; n += 1) await accept(`quick ${n}`)
  await time.pass(100)
  await accept('code', 'code')
  await time.pass(10)
  for (const slow of ['slow 1', 'slow 2']) await accept(slow)
  const full = []
  for (let n = 0; n < 200; n += 1) full.push(await accept(`link ${n}`))
  t.equal(full.filter(each => each.in === 'memory' && !each.isFar).length, 192)
  t.equal(full.filter(each => each.in === 'store' && each.isFar).length, 8)
  t.match(await accept('last', 'code'), { in: 'memory' })
  await time.pass(10_000)
  const order = log.filter(each => each.includes(' gets '))
  t.same(order.slice(10, 14), [
    '200 smtp gets code',
    '210 smtp gets slow 1',
    '210 smtp gets slow 2',
    '1210 smtp gets code',
  ])
  t.equal(taken().length, 215)
})

t.test('what has waited in memory for two seconds goes back, and another process may take it', async t => {
  const { time, accept, stateOf, looked } = await openStarted(t, {
    smtp: { says: () => [SENT, 30_000], concurrency: 1 },
  })
  const last = []
  for (const lifeMs of [9000, 1900, 1901, 9000, 9000, 9000, 9000, 9000, 9000])
    last.push(await accept(`${last.length}`, 'link', lifeMs))
  looked.clear()
  await time.pass(2000)
  t.same([...looked], [500, 600, 1000, 1100, 1250, 1750, 2000, 2100])
  const states = last.slice(1, 4).map(({ id }) => stateOf(id).state)
  t.same(states, ['expired', 'sending', 'sending'], 'what is over has ended, and was not given back')
  await time.pass(1000)
  t.ok(last.some(({ id }) => stateOf(id).state === 'queued'))
})

t.test('when the store has taken the ends that waited, all goes on, in the other channel, too', async t => {
  const { time, accept, log, store, claimedSms } = await openStarted(t, {
    smtp: { says: () => [SENT, 400] },
  })
  for (let n = 1; n <= 5; n += 1) await accept(`${n}`)
  store.fails = true
  await time.pass(4000)
  store.fails = false
  await time.pass(1500)
  t.same(claimedSms, [0, 5050])
  t.same(log.slice(4), [
    '500 the store fails to settle',
    '500 the store fails to settle',
    '900 the store fails to settle',
    '900 the store fails to settle',
    '5050 smtp gets 5',
  ])
})

t.test('a store that fails is asked again after a second, and what is in memory goes on', async t => {
  const { time, delivery, accept, log, store, claimed } = await openStarted(t, {
    smtp: { says: () => [SENT, 400] },
  })
  for (let n = 1; n <= 3; n += 1) await accept(`${n}`)
  store.fails = true
  delivery.wake('email')
  await time.pass(600)
  store.fails = false
  await time.pass(3000)
  t.equal(log.join('\n'), AWAY)
  t.same(claimed, [0, 100, 1100, 2350, 3600])
})

t.test('what is over in the store is ended soon, though a carrier rests for long', async t => {
  const used: Outcome = { is: 'limit', scope: 'account', code: 'day', reply: '', retryAfterMs: 3_600_000 }
  const { time, accept, stateOf, claimed } = await openStarted(t, { smtp: { says: () => [used, 0] } })
  for (let n = 1; n <= 5; n += 1) await accept(`${n}`)
  const waiting: string[] = []
  for (const lifeMs of [1000, 7000, 20_000]) waiting.push((await accept(`${lifeMs}`, 'link', lifeMs)).id)
  const states: unknown[] = []
  for (let n = 0; n < 3; n += 1) {
    await time.pass(5000)
    states.push(waiting.map(id => stateOf(id).state))
  }
  t.same(states, [
    ['expired', 'queued', 'queued'],
    ['expired', 'expired', 'queued'],
    ['expired', 'expired', 'queued'],
  ])
  t.same(claimed, [0])
})

t.test('a carrier that can be connected to again is tried at once, in each outage', async t => {
  let reachable: ('up' | 'down')[] = []
  const { time, delivery, accept, log } = open(t, {
    smtp: {
      probe: async () => {
        const found = reachable.shift() ?? 'up'
        log.push(`${time.now()} it is ${found}`)
        return found
      },
      says: () => [reachable.length > 0 ? REFUSED : SENT, 10],
    },
  })
  delivery.start()
  for (let outage = 1; outage <= 2; outage += 1) {
    await time.pass(100)
    reachable = ['down', 'down', 'down', 'up']
    for (let n = 1; n <= 5; n += 1) await accept(`link ${outage}.${n}`)
    await time.pass(100)
    await accept(`code ${outage}`, 'code')
    await time.pass(10_000)
  }
  t.equal(log.join('\n'), OUTAGES)
})

t.test(
  'what comes back late from the store is sent all the same: only what waits in memory goes back',
  async t => {
    const { time, delivery, accept, log } = open(t, { smtp: { says: () => [SENT, 10] } }, 3000)
    delivery.start()
    for (let n = 1; n <= 3; n += 1) void accept(`${n}`, 'code')
    await time.pass(10_000)
    t.equal(log.filter(each => each.includes('gets')).length, 3)
  },
)
