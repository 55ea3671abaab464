import { noPostgres, openPostgres } from '../../test/rigs/postgres.ts'
import { type CallbackLoad, openCallbackLoad } from '../callbacks.ts'
import { processTreeCpuMs, startChild, type Usage, watchUsage } from '../child.ts'
import { atLeast, atMost, type Figure, figure, ratio } from '../figures.ts'
import type { Service } from '../service.ts'
import type { Session } from '../session.ts'
import { type Baseline, baselineOf, sampleMail } from './rates.ts'

export const REPLICAS = 3
/** Callbacks under way at each replica. */
const CONNECTIONS = 64
/** Of the service and of the database together, µs of processor time. */
const MESSAGE_US = 600

/** Services that share a store. */
export interface Side {
  readonly name: string
  readonly platforms: readonly CallbackLoad[]
  readonly pids: readonly number[]
  readonly usages: readonly ReturnType<typeof watchUsage>[]
  readonly rates: number[]
  /** Processor time a message, µs. */
  readonly own: number[]
  readonly database: number[]
}

/**
 * E-mail callbacks a second, and what service and database spend on each: on SQLite, on Postgres, and by three replicas
 * that share a store on Postgres, in turns with the nodemailer pool. All of it on this machine, driver and sink included.
 */
export async function measureReplicas(session: Session): Promise<Figure[]> {
  if (noPostgres !== false) {
    session.print(`replicas: not measured, ${noPostgres}`)
    return []
  }
  const postgres = await openPostgres({ durable: true })
  const bare = await startChild('./baselines/mail.ts', { SMTP_PORT: String(session.ports.email) })
  const sides: Side[] = []
  const poolUs: number[] = []
  try {
    const services = [{ name: 'SQLite', services: await startReplicas(session, 1, {}) }]
    for (const count of [1, REPLICAS]) {
      const env = { DATABASE_URL: await postgres.url() }
      const name = `Postgres, of ${count}`
      services.push({ name, services: await startReplicas(session, count, env) })
    }
    // Only now: a connection that is not used is closed.
    for (const each of services) sides.push(await openSide(session, each))
    for (const side of sides) await saturateAll(side, Math.min(2, session.seconds))
    const mail = await sampleMail(session)
    const pool = baselineOf(session, 'email', bare, { how: 'composed', mail })
    const database = await postgres.pid()
    await pool(1)
    for (let round = 1; round <= session.rounds; round++) {
      for (const side of sides)
        session.print(`replicas ${round}: ${await measureSide(side, session, database)}`)
      poolUs.push(await measurePool(pool, session, round))
    }
  } finally {
    await closeSides(session, sides)
    await Promise.all([bare.stop(), postgres.close()])
  }
  return figuresOf(sides, poolUs)
}

export async function closeSides(session: Session, sides: readonly Side[]): Promise<void> {
  for (const { platforms, usages } of sides) {
    for (const platform of platforms) platform.close()
    for (const usage of usages) usage.stop()
  }
  await session.stopServices()
}

/** @returns a line of what it showed. */
export async function measureSide(side: Side, { seconds }: Session, database: number): Promise<string> {
  for (const usage of side.usages) usage.read()
  const began = processTreeCpuMs(database)
  const { rate, done } = await saturateAll(side, seconds)
  const databaseMs = processTreeCpuMs(database) - began
  const used = side.usages.map(usage => usage.read())
  side.rates.push(rate)
  side.own.push((used.reduce((sum, { cpuMs }) => sum + cpuMs, 0) / done) * 1000)
  side.database.push((databaseMs / done) * 1000)
  const spent = `${Math.round(side.own.at(-1) ?? 0)} + ${Math.round(side.database.at(-1) ?? 0)} µs`
  return `${side.name}: ${Math.round(rate)}/s; ${spent}; ${used.map(cores).join('; ')}`
}

async function measurePool(pool: Baseline, { seconds, print }: Session, round: number): Promise<number> {
  const { perSecond, cpuUs } = await pool(seconds)
  print(`replicas ${round}: bare nodemailer pool: ${Math.round(perSecond)}/s; ${Math.round(cpuUs)} µs`)
  return cpuUs
}

function figuresOf(sides: readonly Side[], poolUs: readonly number[]): Figure[] {
  const [, one, three] = sides
  const together = ({ own, database }: Side) => own.map((us, i) => us + (database[i] ?? 0))
  return [
    ...sides.flatMap(side => [
      figure(`email callbacks, ${side.name}`, '/s', side.rates),
      figure(`processor time a message, service, ${side.name}`, 'µs', side.own),
      figure(`processor time a message, database, ${side.name}`, 'µs', side.database),
      ratio(`service and database to the pool, ${side.name}`, together(side), poolUs),
    ]),
    figure('processor time a message, bare nodemailer pool, composing', 'µs', poolUs),
    ...(one && three
      ? [
          atMost(MESSAGE_US, figure('service and database together, Postgres', 'µs', together(one))),
          atLeast(1, ratio(`${REPLICAS} replicas to one`, three.rates, one.rates)),
        ]
      : []),
  ]
}

export async function startReplicas(
  session: Session,
  count: number,
  env: Readonly<Record<string, string>>,
): Promise<readonly Service[]> {
  const services: Service[] = []
  // One after another: the first one makes the tables.
  while (services.length < count) services.push(await session.startService({ env }))
  return services
}

export async function openSide(
  session: Session,
  { name, services }: { readonly name: string; readonly services: readonly Service[] },
  connections = CONNECTIONS,
): Promise<Side> {
  return {
    name,
    platforms: await Promise.all(
      services.map(async service => openCallbackLoad(session, service, 'email', connections)),
    ),
    pids: services.map(({ pid }) => pid),
    usages: services.map(({ pid }) => watchUsage(pid)),
    rates: [],
    own: [],
    database: [],
  }
}

export async function saturateAll(
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
