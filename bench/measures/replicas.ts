import { noPostgres, startPostgres } from '../../test/rigs/postgres.ts'
import { openPlatform, type Platform } from '../callbacks.ts'
import { type Usage, watchUsage } from '../child.ts'
import { type Figure, figure, ratio } from '../figures.ts'
import type { Stage } from '../stage.ts'

const REPLICAS = 3
/** Callbacks under way at each replica. */
const CONNECTIONS = 64

interface Side {
  readonly platforms: readonly Platform[]
  readonly usages: readonly ReturnType<typeof watchUsage>[]
  readonly rates: number[]
}

/** E-mail callbacks a second on a Postgres of its own: three replicas that share a store beside one that has its own. */
export async function measureReplicas(stage: Stage): Promise<Figure[]> {
  if (noPostgres !== false) {
    stage.say(`replicas: not measured, ${noPostgres}`)
    return []
  }
  const postgres = await startPostgres()
  const sides: Side[] = []
  try {
    for (const count of [1, REPLICAS]) sides.push(await open(stage, await postgres.url(), count))
    for (const side of sides) await together(side, Math.min(2, stage.seconds))
    for (let round = 1; round <= stage.rounds; round++)
      for (const side of sides) {
        for (const usage of side.usages) usage.look()
        const rate = await together(side, stage.seconds)
        side.rates.push(rate)
        const used = side.usages.map(usage => cores(usage.look())).join(', ')
        stage.say(`replicas ${round}: ${side.platforms.length}: ${Math.round(rate)}/s; ${used}`)
      }
  } finally {
    for (const { platforms, usages } of sides) {
      for (const platform of platforms) platform.close()
      for (const usage of usages) usage.stop()
    }
    await stage.stopServices()
    await postgres.close()
  }
  const [one, three] = sides.map(({ rates }) => rates)
  return [
    figure('email callbacks, Postgres, one replica', '/s', one ?? []),
    figure(`email callbacks, Postgres, ${REPLICAS} replicas`, '/s', three ?? []),
    ratio(`${REPLICAS} replicas to one`, three ?? [], one ?? []),
  ]
}

async function open(stage: Stage, url: string, count: number): Promise<Side> {
  const services = []
  // One after another: the first one makes the tables.
  for (let i = 0; i < count; i++) services.push(await stage.service({ env: { DATABASE_URL: url } }))
  return {
    platforms: await Promise.all(
      services.map(async service => openPlatform(stage, service, 'email', CONNECTIONS)),
    ),
    usages: services.map(({ pid }) => watchUsage(pid)),
    rates: [],
  }
}

async function together({ platforms }: Side, seconds: number): Promise<number> {
  const loops = await Promise.all(platforms.map(async platform => platform.full(seconds)))
  return loops.reduce((sum, { perSecond }) => sum + perSecond, 0)
}

function cores({ cpu, peakMb }: Usage): string {
  return `${cpu.toFixed(2)} cores, ${Math.round(peakMb)} MB`
}
