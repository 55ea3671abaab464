import t from 'tap'
import { type Load, play, WELL } from './play.ts'

/** Where a message goes is the most ordinary scope of a fault: what is slow there costs others at most the two seconds that are promised. */

const SECOND = 1000
const SEED = Number(process.env['SEED'] ?? 20_261_122)
t.comment(`SEED=${SEED}`)

/** Codes to others, two a second to each of two places, while something floods in from the fifth second on. */
async function codesBeside(floods: Load['floods'], more: Partial<Load> = {}) {
  const { codes } = await play({
    seed: SEED,
    channel: 'email',
    carriers: [WELL],
    places: 50,
    perSecond: 4,
    forMs: 40 * SECOND,
    lifeMs: 120 * SECOND,
    limitMs: 300 * SECOND,
    numberOf: n => `u${n}@${n % 2 === 0 ? 'one' : 'two'}.test`,
    floods: floods ?? [],
    ...more,
  })
  const waits = codes.map(({ cameAt, beganAt = Infinity }) => beganAt - cameAt)
  return {
    late: waits.filter(ms => ms > 2 * SECOND).length,
    unsent: codes.filter(({ takenAt }) => takenAt === Infinity).length,
    worst: Math.max(...waits),
    codes,
  }
}

const flood = (domain: string, purpose: 'alarm' | 'code', perSecond: number, many: number) => ({
  to: (n: number) => `x${n}@${domain}`,
  purpose,
  perSecond,
  many,
})
const slow =
  (ms: number) =>
  (to: string): number =>
    /@slow/.test(to) ? ms : 200
const hanging = (_carrier: number, to: string): boolean => /@hangs/.test(to)

for (const places of [50, 1])
  for (const [what, floods, more] of [
    [
      'sixty alarms at once to a server that takes 30 s',
      [flood('slow.test', 'alarm', 1000, 60)],
      { takesMs: slow(30_000) },
    ],
    [
      'five mails a second to one that takes 8 s',
      [flood('slow.test', 'alarm', 5, 200)],
      { takesMs: slow(8000) },
    ],
    [
      'five codes a second to one that takes 8 s',
      [flood('slow.test', 'code', 5, 200)],
      { takesMs: slow(8000) },
    ],
    [
      'one mail a second to one that hangs after RCPT',
      [flood('hangs.test', 'alarm', 1, 40)],
      { swallows: hanging, silentAfter: 'RCPT', limitMs: 20_000 },
    ],
    [
      'one code a second to one that hangs after the dot',
      [flood('hangs.test', 'code', 1, 40)],
      { swallows: hanging },
    ],
    [
      'two at once: ten a second to one that takes 8 s, and one that takes 30',
      [flood('slow.test', 'alarm', 5, 200), flood('slower.test', 'code', 5, 200)],
      { takesMs: (to: string) => (/@slow\./.test(to) ? 8000 : /@slower/.test(to) ? 30_000 : 200) },
    ],
  ] as const)
    t.test(`${what}, ${places} connections: each code to others begins within 2 s`, async t => {
      // With one connection the load is what one carries.
      const { late, unsent, worst } = await codesBeside(floods, {
        places,
        perSecond: places === 1 ? 2 : 4,
        ...more,
      })
      t.same({ late, unsent }, { late: 0, unsent: 0 }, `the worst began after ${worst} ms`)
    })

for (const [purpose, everyMs, most, places] of [
  ['alarm', 500, 2000, 200],
  ['code', 500, 2000, 3],
  ['code', 70_000, 12_000, 200],
] as const)
  t.test(
    `each ${purpose} to a new domain that hangs, a code to others every ${everyMs} ms: they stop no code`,
    async t => {
      const seconds = Math.max(30, (3 * everyMs) / SECOND)
      const { codes } = await play({
        seed: SEED,
        channel: 'email',
        carriers: [WELL],
        places,
        perSecond: SECOND / everyMs,
        forMs: seconds * SECOND,
        lifeMs: 120 * SECOND,
        limitMs: 20 * SECOND,
        silentAfter: 'RCPT',
        numberOf: n => `u${n}@one.test`,
        swallows: (_carrier, to) => to.startsWith('x'),
        floods: [{ to: n => `x@invented${n}.test`, purpose, perSecond: 1200 / seconds, many: 1200 }],
      })
      const waits = codes.map(({ cameAt, beganAt = Infinity }) => beganAt - cameAt)
      t.ok(Math.max(...waits) < most, `${Math.max(...waits)} ms`)
    },
  )

t.test('codes to five slow domains beside a second server delay no code to others', async t => {
  const { late, unsent, worst } = await codesBeside(
    Array.from({ length: 5 }, (_, n) => flood(`slow${n}.test`, 'code', 1000, 600)),
    { takesMs: slow(8000), carriers: [WELL, WELL], places: 10 },
  )
  t.same({ late, unsent }, { late: 0, unsent: 0 }, `the worst began after ${worst} ms`)
})
