import t, { type Test } from 'tap'
import { type Code, type Load, play, type Result, WELL, wait } from './play.ts'
import { percentile } from './simulation.ts'

/** Carriers that fail in part, and servers that were gone: what arrives, and how soon. */

const SECOND = 1000
const SEED = Number(process.env['SEED'] ?? 20_261_122)
t.comment(`SEED=${SEED}`)

const describe = ({ sent, tookMs, limits }: Result): string =>
  `${tookMs.length} of ${sent}, p75 ${(percentile(tookMs, 0.75) / SECOND).toFixed(1)} s, p90 ${(percentile(tookMs, 0.9) / SECOND).toFixed(1)} s, limits ${limits.join(', ')}`

const MIXED = { lifeMs: 300 * SECOND, perSecond: 13, forMs: 45 * SECOND, limitMs: 30 * SECOND } as const

t.test('one carrier that cuts 15 % and hangs with 4 % of its requests carries nearly all', async t => {
  const result = await play({ ...MIXED, seed: SEED, carriers: [{ refused: 0, cut: 0.15, hang: 0.04 }] })
  t.ok(result.tookMs.length >= 0.9 * result.sent, describe(result))
  t.ok(percentile(result.tookMs, 0.9) < 10 * SECOND)
})

t.test('three carriers that each take 62 % of their requests carry nearly all', async t => {
  const each = { refused: 0.2, cut: 0.13, hang: 0.05 }
  const load = { ...MIXED, perSecond: 1500 / 135, forMs: 135 * SECOND, seed: SEED }
  const result = await play({ ...load, carriers: [each, each, each] })
  t.ok(result.tookMs.length >= 0.9 * result.sent, describe(result))
  t.ok(percentile(result.tookMs, 0.9) < 10 * SECOND)
})

const OUTAGES = [
  [40, 60],
  [33, 36],
] as const

/** Twelve codes, five of them before the server goes, and the time that each of the others takes after it is back, ms. */
async function outlive(downS: number, lifeS: number, canProbe: boolean, more: Partial<Load> = {}) {
  const backAt = (5 + downS) * SECOND
  const result = await play({
    seed: SEED,
    carriers: [WELL],
    perSecond: 1,
    forMs: 12 * SECOND,
    lifeMs: lifeS * SECOND,
    limitMs: 30 * SECOND,
    gone: [5 * SECOND, backAt],
    canProbe,
    ...more,
  })
  return { ...result, backAt, late: result.takenAt.map(at => at - backAt).filter(ms => ms > 0) }
}

for (const [downS, lifeS] of OUTAGES) {
  t.test(
    `${downS} s without a server: codes that live ${lifeS} s are taken soon after it is back`,
    async t => {
      const { late, probes, backAt } = await outlive(downS, lifeS, true)
      t.equal(late.length, 7)
      t.ok(Math.max(...late) < 2500, `${Math.max(...late)} ms`)
      t.ok(probes.length > 10 && probes.every(at => at > 5 * SECOND && at < backAt + 2 * SECOND))
    },
  )

  t.test(`the same without probes: a last trial is made in time, and not all the time`, async t => {
    const { late, probes, refusals } = await outlive(downS, lifeS, false)
    t.equal(late.length, 7)
    t.same(probes, [])
    t.ok(refusals.length < 25, `${refusals.length} trials`)
  })
}

for (const [what, channel] of [
  ['a mail server that can be connected to', 'email'],
  ['a carrier', 'sms'],
] as const)
  t.test(`a minute without ${what}: what waits goes out within 2 s of its return`, async t => {
    const { late } = await outlive(60, 600, true, { channel })
    t.equal(late.length, 7)
    t.ok(Math.max(...late) <= 2000, late.join(' ms, '))
  })

t.test(
  'what has one carrier alone, which was gone, is taken soon after it is back, though another one works',
  async t => {
    const { late, refusals } = await outlive(40, 60, true, {
      carriers: [WELL, WELL],
      perSecond: 2,
      apart: true,
    })
    t.equal(late.length, 7)
    t.ok(Math.max(...late) < 2500, `${Math.max(...late)} ms`)
    t.ok(refusals.length < 25, `${refusals.length} trials`)
  },
)

t.test('while no code waits, nobody is asked whether it is back', async t => {
  const carriers = [WELL]
  const load = { seed: SEED, carriers, perSecond: 5, forMs: 2 * SECOND, limitMs: 30 * SECOND }
  const { probes, sent, tookMs } = await play({
    ...load,
    lifeMs: 10 * SECOND,
    gone: [0, 60 * SECOND],
    canProbe: true,
  })
  t.equal(tookMs.length, 0)
  t.equal(sent, 10)
  t.ok(probes.length > 0 && probes.every(at => at < 13 * SECOND), 'all of them had expired')
})

/** Codes to China, two a second, of which each is taken within 0.3 s until the first of two carriers swallows them from the tenth second on. */
async function hang(more: Partial<Load>, isOf = (_to: string) => true) {
  const { codes } = await play({
    seed: SEED,
    carriers: [WELL, WELL],
    perSecond: 2,
    forMs: 50 * SECOND,
    lifeMs: 300 * SECOND,
    limitMs: 30 * SECOND,
    swallows: (carrier, to, at) => carrier === 0 && isOf(to) && at >= 10 * SECOND,
    ...more,
  })
  const late = codes.filter(({ to, cameAt }) => isOf(to) && cameAt >= 16 * SECOND)
  return { codes, late, others: codes.filter(({ to }) => !isOf(to)) }
}

/** All but the few that try the first carrier are with the second within two seconds. */
function areWithSecond(t: Test, late: readonly Code[]): void {
  const trials = late.filter(({ asked }) => asked.includes(0))
  t.ok(trials.length <= 6, `${trials.length} of ${late.length} codes tried the first`)
  const soon = late.filter(code => !trials.includes(code))
  t.ok(soon.length >= 60 && soon.every(code => wait(code) < 2 * SECOND), `${Math.max(...soon.map(wait))} ms`)
}

t.test('a first carrier that hangs: 6 s later each new code is with the second within 2 s', async t => {
  const { codes, late } = await hang({})
  areWithSecond(t, late)
  t.ok(
    codes.every(({ asked }) => new Set(asked).size < 2),
    'none is sent by two carriers',
  )
})

t.test('one that hangs for China alone: the same, and what goes elsewhere stays with it', async t => {
  const isChina = (to: string): boolean => to.startsWith('+86')
  const { codes, late, others } = await hang(
    { perSecond: 4, numberOf: n => (n % 2 === 0 ? `+86138${n}` : `+1201${n}`) },
    isChina,
  )
  areWithSecond(t, late)
  t.ok(others.length >= 90 && others.every(code => wait(code) < 2 * SECOND))
  t.ok(
    others.every(({ asked }) => asked.join() === '0'),
    'the first is well for them',
  )
  t.ok(codes.every(({ asked }) => new Set(asked).size < 2))
})

for (const [silentAfter, copies, withinS] of [
  ['RCPT', 1, 3],
  ['dot', 2, 9],
] as const)
  t.test(
    `a mail server that hangs after ${silentAfter}: 6 s later each new code is with the fallback within 2 s`,
    async t => {
      const { codes, late } = await hang({ channel: 'email', silentAfter, limitMs: 300 * SECOND })
      areWithSecond(t, late)
      const hung = codes.filter(({ cameAt, asked }) => cameAt >= 10 * SECOND && asked[0] === 0)
      t.ok(hung.length >= 5 && hung.every(({ asked }) => asked.join() === '0,1'), 'the others follow')
      t.ok(Math.max(...codes.map(wait)) < withinS * SECOND, `${Math.max(...codes.map(wait))} ms`)
      t.equal(
        Math.max(...codes.map(({ asked }) => asked.filter(at => at === 0 || silentAfter === 'dot').length)),
        copies,
      )
    },
  )

t.test('a mail server that was gone is used again within 3 s of its return', async t => {
  const { codes } = await play({
    seed: SEED,
    channel: 'email',
    carriers: [WELL, WELL],
    perSecond: 2,
    forMs: 80 * SECOND,
    lifeMs: 300 * SECOND,
    limitMs: 300 * SECOND,
    gone: [10 * SECOND, 60 * SECOND],
    canProbe: true,
    firstAlone: true,
  })
  t.ok(Math.max(...codes.map(wait)) < SECOND, 'nobody waits for it')
  const back = codes.filter(({ cameAt }) => cameAt >= 63 * SECOND)
  t.ok(back.length >= 30 && back.every(({ asked }) => asked.join() === '0'))
})

for (const [every, pauseS, asked] of [
  ['five seconds, before the first is given up', 5, [[0], [1], [1], [1]]],
  ['minute, after the first was repeated', 60, [[0, 0], [1], [1], [1]]],
] as const)
  t.test(`a person for whom the first carrier hangs asks four times, every ${every}`, async t => {
    const { codes } = await hang(
      {
        perSecond: 1,
        forMs: (15 + 3 * pauseS) * SECOND,
        numberOf: n => (n >= 12 && (n - 12) % pauseS === 0 ? '+86138ann' : `+86138${n}`),
      },
      to => to === '+86138ann',
    )
    const hers = codes.filter(({ to }) => to === '+86138ann')
    t.same(
      hers.map(each => each.asked),
      asked,
    )
    t.ok(hers.slice(1).every(code => wait(code) < SECOND))
    t.ok(
      codes.every(code => hers.includes(code) || code.asked.join() === '0'),
      'the first is well for others',
    )
  })
