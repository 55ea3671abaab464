import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Carrier } from '../../src/delivery/carrier.ts'
import type { EventOf } from '../../src/events/events.ts'
import type { NewMessage } from '../../src/messages/message.ts'
import {
  type CarrierReports,
  createCarrierReports,
  type Demotion,
} from '../../src/reports/carrier-reports.ts'
import { seededRandom } from '../delivery/simulation.ts'
import { sample } from '../outbox/samples.ts'

const MINUTE = 60_000
const REFUSED = { is: 'retry', whose: 'later', code: '503', reply: '' } as const
/** What a carrier does with a message: when it reports, and what; null: it reports nothing. */
type Behaviour = (random: () => number) => { readonly afterMs: number; readonly status: string } | null

const good: Behaviour = random => ({ afterMs: random() * 20_000, status: 'delivered' })
const late: Behaviour = random => ({ afterMs: (8 + random() * 4) * MINUTE, status: 'delivered' })
const bad: Behaviour = random => ({ afterMs: 5000, status: random() < 0.8 ? 'undelivered' : 'delivered' })
const silent: Behaviour = () => null

/** Has a carrier report on a message. */
function reportOn(
  reports: CarrierReports,
  providerId: string,
  status: string,
  more: Partial<EventOf<'receipt'>> = {},
): void {
  const about = { channel: 'sms', provider: 'a', providerId, status, errorCode: null } as const
  reports.noteReport({ type: 'receipt', ...about, result: 'recorded', ...more })
}

type Asked = Parameters<CarrierReports['noteEnd']>[0]

/** A carrier took an SMS. */
function take(reports: CarrierReports, message: Asked, provider: string, providerId?: string): void {
  const id = providerId === undefined ? {} : { providerId }
  reports.noteEnd(message, provider, { is: 'sent', reply: '', ...id }, false)
}

const carrierOf = (name: string) => ({ provider: { name } }) as Carrier

/** Two carriers, `a` before `b`, in simulated time. */
function simulate(everyMs: number, judged = ['a', 'b'], tellsId = true) {
  const random = seededRandom(7)
  let now = 0
  const changes: { provider: string; isSecond: boolean; at: number; share: number }[] = []
  /** The same of all countries, in words. */
  const told: string[] = []
  const reports: CarrierReports = createCarrierReports({
    clock: { now: () => now },
    random,
    judged: new Set(judged),
    countryOf: number => ({ '+1': 'US', '+7': 'RU' })[number.slice(0, 2)] ?? 'CN',
    onChange({ provider, country, isSecond, share }) {
      if (country === '') changes.push({ provider, isSecond, at: now, share })
      const what = `${provider} is ${isSecond ? 'second' : 'first'} for ${country || 'all'}`
      told.push(`at ${Math.floor(now / MINUTE)} ${what} by ${Math.round(share * 100)} %,`)
    },
  })
  const carriers = ['a', 'b'].map(carrierOf)
  const due: {
    readonly at: number
    readonly id?: string
    readonly providerId: string
    readonly status: string
  }[] = []
  let count = 0

  /** @returns the carrier that is asked first for a message. */
  const firstOf = (about: Omit<Asked, 'id'>): string =>
    reports.order(carriers, { id: '', ...about }).carriers[0]?.provider.name ?? ''

  /** @returns the share of messages that went to `a` first. */
  function run(forMs: number, behaviours: Readonly<Record<string, Behaviour>>, stepMs = everyMs): number {
    const end = now + forMs
    let [all, first] = [0, 0]
    for (; now < end; now += stepMs) {
      for (const each of due.filter(({ at }) => at <= now)) {
        due.splice(due.indexOf(each), 1)
        const then = now
        now = each.at
        const { id, providerId, status } = each
        reportOn(reports, providerId, status, { id })
        now = then
      }
      const recipient = `+86${(count += 1)}`
      const about = { recipient, purpose: 'code', expiresAt: now } as const
      const name = firstOf(about)
      all += 1
      if (name === 'a') first += 1
      const providerId = `${name}${count}`
      take(reports, { id: providerId, ...about }, name, tellsId ? providerId : undefined)
      const report = behaviours[name]?.(random)
      const named = tellsId ? { providerId } : { id: providerId, providerId: `their-${count}` }
      if (report) due.push({ at: now + report.afterMs, ...named, status: report.status })
    }
    return first / all
  }
  const advance = (ms: number): void => {
    now += ms
  }
  return { run, changes, told, reports, carriers, advance, firstOf, now: () => now }
}

t.test('a carrier whose reports turn bad, and name our id alone, is second until they are good', async t => {
  const { run, changes } = simulate(2000, ['a', 'b'], false)
  t.equal(run(60 * MINUTE, { a: good, b: good }), 1)
  run(20 * MINUTE, { a: bad, b: good })
  t.match(changes, [{ provider: 'a', isSecond: true }])
  const trickle = run(60 * MINUTE, { a: bad, b: good })
  t.ok(trickle > 0.08 && trickle < 0.12, `a trickle goes on: ${trickle}`)
  run(30 * MINUTE, { a: good, b: good })
  t.match(changes.at(-1), { provider: 'a', isSecond: false })
  t.equal(run(60 * MINUTE, { a: good, b: good }), 1)
  t.equal(changes.length, 2)
})

t.test('one that stands beside no other in any route keeps its place, whatever it reports', async t => {
  const { run, changes } = simulate(2000, ['b'])
  t.equal(run(60 * MINUTE, { a: bad, b: good }), 1)
  t.equal(run(60 * MINUTE, { a: silent, b: good }), 1)
  t.same(changes, [])
})

t.test('late reports on what was sent before it was asked second do not keep it there', async t => {
  const { run, changes, now } = simulate(2000)
  run(60 * MINUTE, { a: good, b: good })
  while (changes.length === 0) run(2000, { a: late, b: good })
  const wellSince = now()
  run(30 * MINUTE, { a: good, b: good })
  t.match(changes, [{ isSecond: true }, { isSecond: false }])
  const tookMs = (changes[1]?.at ?? 0) - wellSince
  t.ok(tookMs <= 11 * MINUTE, `it took ${tookMs / MINUTE} minutes`)
})

const HOUR = 60 * MINUTE

t.test('one number counts once: who asks again and again with a phone that is off moves nobody', async t => {
  const { run, changes, reports } = simulate(5 * MINUTE)
  run(HOUR, { a: good, b: good })
  for (let n = 0; n < 12; n += 1) {
    take(reports, { id: `x${n}`, recipient: '+86', purpose: 'code', expiresAt: 0 }, 'a', `x${n}`)
    reportOn(reports, `x${n}`, 'undelivered')
  }
  t.same(changes, [])
})

t.test('when all are bad the order stays', async t => {
  const both = simulate(2000)
  both.run(120 * MINUTE, { a: bad, b: bad })
  t.same(
    ['a', 'b'].map(name => both.reports.secondIn(name).includes('CN')),
    [true, true],
  )
  const order = both.reports.order(both.carriers, codeTo('+86', both.now()))
  t.same(order, { carriers: both.carriers, demotions: [] })
})

t.test(
  'with twenty reports of a country a carrier is judged for it by them, and for others as a whole',
  async t => {
    const { reports, firstOf, advance } = simulate(1)
    let count = 0
    /** Sends so many to a country, which are reported so at once. */
    const send = (area: string, many: number, status: string): void => {
      for (let n = 0; n < many; n += 1) {
        const id = `${(count += 1)}`
        take(reports, { id, recipient: `${area} ${id}`, purpose: 'code', expiresAt: 0 }, 'a', id)
        reportOn(reports, id, status)
      }
    }
    /** @returns who is asked first for a number of China, America and elsewhere; one in ten goes to `a` all the same. */
    const firsts = () =>
      ['+86', '+1', '+7'].map(recipient => {
        const names = Array.from({ length: 20 }, () => firstOf({ recipient, purpose: 'alarm', expiresAt: 0 }))
        return names.filter(each => each === 'b').length > 10 ? 'b' : 'a'
      })
    send('+86', 30, 'delivered')
    send('+1', 19, 'undelivered')
    t.same(reports.secondIn('a'), [''], 'less than 70 % of all came, and America has nineteen')
    t.same(firsts(), ['a', 'b', 'b'], 'China has enough of its own, and they are good')
    advance(31 * MINUTE)
    t.same(firsts(), ['a', 'b', 'b'], 'for days')
    send('+1', 1, 'undelivered')
    t.same(reports.secondIn('a'), ['', 'US'])
    advance(11 * MINUTE)
    send('+86', 20, 'delivered')
    t.same(reports.secondIn('a'), ['US'], 'the whole is good again')
    t.same(firsts(), ['a', 'b', 'a'])
    const { demotions } = reports.order(['b', 'a'].map(carrierOf), {
      id: '',
      recipient: '+1',
      purpose: 'alarm',
      expiresAt: 0,
    })
    t.match(demotions, [{ provider: 'a', code: 'reports-bad' }], 'its timeline says why')
    send('+1', 20, 'delivered')
    t.same(reports.secondIn('a'), [])
    advance(3 * 24 * HOUR + 1)
    send('+86', 20, 'undelivered')
    t.same(firsts(), ['b', 'b', 'b'], 'what America reported three days ago does not count')
  },
)

t.test('a forged report and one of nobody’s message count for nothing', async t => {
  const { run, reports, changes } = simulate(2000)
  run(5 * MINUTE, { a: silent, b: silent })
  for (let id = 1; id < 200; id += 1)
    for (const [providerId, result] of [
      [`a${id}`, 'forged'],
      [`x${id}`, 'unknown'],
    ] as const)
      reportOn(reports, providerId, 'failed', { result })
  t.same(changes, [])
})

const isOfCode = ({ code }: Demotion): boolean => code !== 'reports-bad'

/** A code to a number, which is valid for ten minutes. */
function codeTo(recipient: string, now: number, id?: string): NewMessage {
  const { message } = sample({ now: () => now }, { channel: 'sms', recipient, lifeMs: 10 * MINUTE })
  return { ...message, id: id ?? message.id }
}

t.test('a code that follows one which was reported undelivered begins with the next carrier', async t => {
  const { run, reports, carriers, now } = simulate(2000)
  run(MINUTE, { a: silent, b: silent })
  const demotion = (number = 'ann', inOrder = carriers) =>
    reports.order(inOrder, codeTo(number, now())).demotions.find(isOfCode)
  const report = (providerId: string, status: string) => reportOn(reports, providerId, status)
  take(reports, codeTo('ann', now()), 'a', 'id-1')
  report('id-1', 'undelivered')
  t.match(demotion(), { provider: 'a', code: 'code-undelivered' })
  t.equal(demotion('bob'), undefined, 'nor does it concern another number')
  for (const names of [['a'], ['b', 'c']])
    t.equal(demotion('ann', names.map(carrierOf)), undefined, 'nor a route without it, or another carrier')
  const alarm = sample({ now }, { channel: 'sms', recipient: 'ann', purpose: 'alarm' }).message
  t.same(reports.order(carriers, alarm), { carriers, demotions: [] })
  take(reports, codeTo('ann', now()), 'b', 'id-2')
  report('id-1', 'undelivered')
  t.match(demotion(), { provider: 'a' }, 'as long as nothing is known of the next one, or it came')
  reportOn(reports, 'id-2', 'failed', { result: 'unknown' })
  t.match(demotion(), { provider: 'b' })
  report('id-2', 'delivered')
  take(reports, codeTo('ann', now()), 'a', 'id-4')
  report('id-4', 'failed')
  take(reports, codeTo('ann', now()), 'a', 'id-5')
  report('id-5', 'read')
  t.equal(demotion(), undefined, 'a carrier by which a later one came works')
  const nameless = codeTo('cid', now())
  take(reports, nameless, 'a')
  reportOn(reports, 'theirs', 'undelivered', { id: nameless.id })
  t.match(demotion('cid'), { provider: 'a' }, 'a carrier that tells no id reports by ours')
})

t.test('the oldest codes are forgotten', async t => {
  const { reports, carriers, changes, advance, now } = simulate(2000)
  for (let n = 0; n < 10_030; n += 1) {
    take(reports, codeTo(`n${n}`, now()), 'a', `id-${n}`)
    if (n > 30) reportOn(reports, `id-${n}`, 'delivered')
  }
  const known = [28, 29, 30].filter(n => {
    reportOn(reports, `id-${n}`, 'failed')
    return reports.order(carriers, codeTo(`n${n}`, now())).demotions.some(isOfCode)
  })
  t.same(known, [30])
  advance(5 * MINUTE)
  take(reports, codeTo('last', now()), 'a')
  t.same(changes, [], 'and are not late')
})

/**
 * Its plays are of codes by carrier a, at minutes or ms: g are reported good at once, d twice, b bad, l after 4 minutes, L just after
 * that, s never; x are not answered, and u reported bad nevertheless. The last one may be asked for again (X) or taken (t), end in
 * doubt (m), be refused (r), or be refused after a try that may have sent it (R); n is one more to its number, which b delivers.
 * After each step it says what changed, with the percent of good ones; for whom it is second; and why the next code is asked of
 * carriers in which order, but for one in ten.
 */
t.test('who is asked second, and until when', async t => {
  const record = readFileSync(join(import.meta.dirname, '../fixtures/carrier-order.txt'), 'utf8')
  const route = ['b', 'a', 'c'].map(carrierOf)
  let { told, advance, reports, now } = simulate(1)
  let count = 0
  let more = 0
  let last = codeTo('a0', 0)
  const played = record.split('\n').map(line => {
    const [, at, unit, said = ''] = /^ {2}(\d+)(ms|) (\S+)/.exec(line) ?? []
    if (at === undefined) {
      ;({ told, advance, reports, now } = simulate(1))
      return line
    }
    advance(Number(at) * (unit === 'ms' ? 1 : MINUTE) - now())
    const steps = said.replace('-', '').replace(/(.)\*(\d+)/g, (_, step: string, times) => step.repeat(times))
    for (const each of steps) {
      const id = `a${(count += /[gdblLsxu]/.test(each) ? 1 : 0)}`
      if (id !== last.id) last = codeTo(id, now(), id)
      if (/[xuX]/.test(each)) reports.noteAsked(last, 'a')
      if (/[gdblLst]/.test(each)) take(reports, last, 'a', id)
      if (each === 'l') advance(4 * MINUTE)
      if (each === 'L') advance(4 * MINUTE + 1)
      if (/[gdlL]/.test(each)) reportOn(reports, id, 'delivered')
      if (each === 'd') reportOn(reports, id, 'read')
      if (/[bu]/.test(each)) reportOn(reports, id, 'undelivered', { id })
      if (each === 'm') reports.noteEnd(last, 'a', { ...REFUSED, is: 'ambiguous' }, false)
      if (/[rR]/.test(each)) reports.noteEnd(last, 'a', REFUSED, each === 'R')
      if (each === 'n') take(reports, codeTo(id, now(), `${id} ${(more += 1)}`), 'b', `${id} ${more}`)
      if (each === 'n') reportOn(reports, `${id} ${more}`, 'delivered')
    }
    const second = reports.secondIn('a').map(country => country || 'all')
    const { carriers, demotions } = reports.order(route, codeTo(last.recipient, now()))
    t.notOk(reports.order(route, last).demotions.some(isOfCode), 'no code is a reason against itself')
    const doubts = demotions.map(({ provider, reply }) => `${provider} ${String(reply)}`)
    const order = carriers.map(({ provider }) => provider.name).join('')
    return [`  ${at}${unit} ${said} →`, ...told.splice(0), `(${second.join(', ')})`, ...doubts, order].join(
      ' ',
    )
  })
  t.equal(played.join('\n'), record)
})
