import { noPostgres, openPostgres } from '../../test/rigs/postgres.ts'
import { createCpuLimit, type Limit } from '../cgroup.ts'
import { atLeast, atMost, type Figure, figure, ratio } from '../figures.ts'
import type { Session } from '../session.ts'
import {
  closeSides,
  measureSide,
  openSide,
  REPLICAS,
  type Side,
  saturateAll,
  startReplicas,
} from './replicas.ts'

/**
 * A replica small enough that three of them, their database, the driver and the sink have room on two cores: its share of a core,
 * given out in short periods, and the callbacks under way at it.
 */
const SMALL = { cores: 0.15, periodUs: 10_000, connections: 16 }
/** Three small replicas carry so many times what a small one carries; three without a limit answer 99 of 100 in so many ms at half of their rate. */
const SMALL_TIMES = 1.8
const SMALL_P99_MS = 100

/**
 * What replicas add up to where the database has cores of its own: a small one beside three small ones, each with a share of a core,
 * which together leave room for the database, the driver and the sink. Nothing but the database they share can hold them back.
 */
export async function measureScaling(session: Session): Promise<Figure[]> {
  if (noPostgres !== false) {
    session.print(`scaling: not measured, ${noPostgres}`)
    return []
  }
  const postgres = await openPostgres({ durable: true })
  const sides: Side[] = []
  const limits: Limit[] = []
  const p99Ms: number[] = []
  try {
    for (const count of [1, REPLICAS]) {
      const env = { DATABASE_URL: await postgres.url() }
      const services = await startReplicas(session, count, env)
      sides.push(await openSide(session, { name: `${count} small`, services }, SMALL.connections))
    }
    const [one, three] = sides
    if (one === undefined || three === undefined) return []
    const warmUp = ({ platforms }: Side) => Promise.all(platforms.map(async each => each.warmUp()))
    await warmUp(three)
    for (let round = 1; round <= session.rounds; round++)
      p99Ms.push(await measureAtHalf(session, three, round))
    // Last: a replica that rests for half a minute collects its garbage, and what was compiled goes with it.
    await warmUp(one)
    for (const pid of sides.flatMap(({ pids }) => pids)) {
      const limit = createCpuLimit(SMALL.cores, SMALL.periodUs)
      if (limit === null) {
        session.print('scaling: not measured, this machine allows no limit of processor time')
        return []
      }
      limits.push(limit)
      limit.take(pid)
    }
    const database = await postgres.pid()
    for (const side of sides) await saturateAll(side, session.seconds)
    for (let round = 1; round <= session.rounds; round++)
      for (const side of sides)
        session.print(`scaling ${round}: ${await measureSide(side, session, database)}`)
  } finally {
    await closeSides(session, sides)
    for (const limit of limits) limit.remove()
    await postgres.close()
  }
  const [one, three] = sides
  if (one === undefined || three === undefined) return []
  return [
    figure('email callbacks, one small replica', '/s', one.rates),
    figure(`email callbacks, ${REPLICAS} small replicas`, '/s', three.rates),
    atLeast(SMALL_TIMES, ratio(`${REPLICAS} small replicas to one`, three.rates, one.rates)),
    atMost(SMALL_P99_MS, figure(`p99 of ${REPLICAS} without a limit at half of their rate`, 'ms', p99Ms)),
    figure('processor time a message, service, one small', 'µs', one.own),
    figure(`processor time a message, service, ${REPLICAS} small`, 'µs', three.own),
    figure('processor time a message, database, one small', 'µs', one.database),
    figure(`processor time a message, database, ${REPLICAS} small`, 'µs', three.database),
  ]
}

/** @returns the worst p99 of replicas that get half of what they just carried, ms: nothing limits them but this machine. */
async function measureAtHalf({ seconds, print }: Session, side: Side, round: number): Promise<number> {
  const rate = (await saturateAll(side, seconds)).rate / 2
  const loops = await Promise.all(
    side.platforms.map(async each => each.sendAtRate(rate / side.platforms.length, seconds)),
  )
  const p99Ms = Math.max(...loops.map(loop => loop.p99Ms))
  print(`scaling ${round}: ${REPLICAS} without a limit at ${Math.round(rate)}/s: p99 ${p99Ms.toFixed(1)} ms`)
  return p99Ms
}
