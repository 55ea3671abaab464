import { noPostgres, startPostgres } from '../../test/rigs/postgres.ts'
import { type CallbackLoad, openCallbackLoad } from '../callbacks.ts'
import { processTreeCpuMs, type Usage, watchUsage } from '../child.ts'
import { type Figure, figure, ratio } from '../figures.ts'
import type { Session } from '../session.ts'

const REPLICAS = 3
/** Callbacks under way at each replica. */
const CONNECTIONS = 64

interface Side {
  readonly platforms: readonly CallbackLoad[]
  readonly usages: readonly ReturnType<typeof watchUsage>[]
  readonly rates: number[]
  /** Processor time a message, µs. */
  readonly own: number[]
  readonly database: number[]
}

/**
 * E-mail callbacks a second on Postgres: three replicas that share a store beside one that has its own, and what replicas
 * and database spend on a message. All of it on this machine, driver and sink included.
 */
export async function measureReplicas(session: Session): Promise<Figure[]> {
  if (noPostgres !== false) {
    session.print(`replicas: not measured, ${noPostgres}`)
    return []
  }
  const postgres = await startPostgres({ durable: true })
  const pid = await postgres.pid()
  const sides: Side[] = []
  try {
    for (const count of [1, REPLICAS]) sides.push(await open(session, await postgres.url(), count))
    for (const side of sides) await saturateAll(side, Math.min(2, session.seconds))
    for (let round = 1; round <= session.rounds; round++)
      for (const side of sides) {
        for (const usage of side.usages) usage.read()
        const began = processTreeCpuMs(pid)
        const { rate, done } = await saturateAll(side, session.seconds)
        const databaseMs = processTreeCpuMs(pid) - began
        const used = side.usages.map(usage => usage.read())
        side.rates.push(rate)
        side.own.push((used.reduce((sum, { cpuMs }) => sum + cpuMs, 0) / done) * 1000)
        side.database.push((databaseMs / done) * 1000)
        const each = used.map(cores).join('; ')
        session.print(
          `replicas ${round}: ${used.length}: ${Math.round(rate)}/s; ${each}; database ${(databaseMs / 1000 / session.seconds).toFixed(2)} cores`,
        )
      }
  } finally {
    for (const { platforms, usages } of sides) {
      for (const platform of platforms) platform.close()
      for (const usage of usages) usage.stop()
    }
    await session.stopServices()
    await postgres.close()
  }
  const [one, three] = sides
  return [
    figure('email callbacks, Postgres, one replica', '/s', one?.rates ?? []),
    figure(`email callbacks, Postgres, ${REPLICAS} replicas`, '/s', three?.rates ?? []),
    ratio(`${REPLICAS} replicas to one`, three?.rates ?? [], one?.rates ?? []),
    ...sides.flatMap(({ platforms, own, database }) => [
      figure(`processor time a message, replicas, of ${platforms.length}`, 'µs', own),
      figure(`processor time a message, database, with ${platforms.length}`, 'µs', database),
    ]),
  ]
}

async function open(session: Session, url: string, count: number): Promise<Side> {
  const services = []
  // One after another: the first one makes the tables.
  for (let i = 0; i < count; i++) services.push(await session.startService({ env: { DATABASE_URL: url } }))
  return {
    platforms: await Promise.all(
      services.map(async service => openCallbackLoad(session, service, 'email', CONNECTIONS)),
    ),
    usages: services.map(({ pid }) => watchUsage(pid)),
    rates: [],
    own: [],
    database: [],
  }
}

async function saturateAll(
  { platforms }: Side,
  seconds: number,
): Promise<{ readonly rate: number; readonly done: number }> {
  const loops = await Promise.all(platforms.map(async platform => platform.saturate(seconds)))
  return {
    rate: loops.reduce((sum, { perSecond }) => sum + perSecond, 0),
    done: loops.reduce((sum, { done }) => sum + done, 0),
  }
}

function cores({ cpu, peakMb }: Usage): string {
  return `${cpu.toFixed(2)} cores, ${Math.round(peakMb)} MB`
}
