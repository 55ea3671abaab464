import t from 'tap'
import { startProcess } from '../rigs/process.ts'
import { NO_QUOTAS, startSinks } from '../rigs/service.ts'
import { AS_IN_THE_IMAGE } from './flood.ts'
import { playNewcomers, sources } from './newcomers.ts'

/** What the thousand unauthenticated connections and their TLS may take, MB. */
const MOST_GROWN = 100

for (const [perSecond, networks] of [
  [10_000, 1],
  [3000, 50],
] as const)
  t.test(`a caller 300 ms away gets in beside ${perSecond} connects/s from ${networks} networks`, async t => {
    const { settings, ca } = await startSinks(t)
    const { publicUrl: url, memory } = await startProcess(t, {
      ...settings,
      ...NO_QUOTAS,
      ...AS_IN_THE_IMAGE,
    })
    const play = (callers: number) =>
      playNewcomers(t, {
        url,
        ca,
        order: { perSecond, from: sources(networks) },
        roundTripMs: 300,
        callers,
        leadMs: 1500,
      })
    const before = memory()
    const first = await play(10)
    const between = memory()
    const again = await play(10)
    t.comment(
      `${first.perSecond} and ${again.perSecond} connects/s; ${[before, between, memory()].map(Math.round).join(', ')} MB`,
    )
    t.equal(first.gotIn + again.gotIn, 20)
    t.ok(between - before < MOST_GROWN, 'memory is bounded')
    t.ok(memory() - between < MOST_GROWN / 4, 'and flat')
  })
