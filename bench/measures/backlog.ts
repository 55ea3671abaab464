import { openCallbackLoad } from '../callbacks.ts'
import { startChild, watchUsage } from '../child.ts'
import { atLeast, type Figure, figure, ratio } from '../figures.ts'
import type { Session } from '../session.ts'

const CONNECTIONS = 64

/** The rate of e-mail callbacks while other messages wait for their next attempt: none, and as many as `backlogs`. */
export async function measureBacklog(
  session: Session,
  { backlogs }: { readonly backlogs: readonly number[] },
): Promise<Figure[]> {
  const services = []
  for (const backlog of [0, ...backlogs])
    services.push({
      backlog,
      service: await session.startService({ prepare: async env => fill(session, env, backlog) }),
    })
  const sides = []
  try {
    // Only now: a connection without a request is closed after a few seconds.
    for (const { backlog, service } of services) {
      const platform = await openCallbackLoad(session, service, 'email', CONNECTIONS)
      const rates: number[] = []
      const memory: number[] = []
      sides.push({ backlog, service, platform, usage: watchUsage(service.pid), rates, memory })
    }
    for (const { platform } of sides) await platform.saturate(Math.min(2, session.seconds))
    for (let round = 1; round <= session.rounds; round++)
      for (const { backlog, platform, usage, rates, memory } of sides) {
        usage.read()
        const { perSecond, p99Ms } = await platform.saturate(session.seconds)
        const { peakMb } = usage.read()
        rates.push(perSecond)
        memory.push(peakMb)
        session.print(
          `backlog ${backlog}, ${round}: ${Math.round(perSecond)}/s, p99 ${p99Ms.toFixed(1)} ms, ${Math.round(peakMb)} MB`,
        )
      }
  } finally {
    for (const { platform, service, usage } of sides) {
      usage.stop()
      platform.close()
      await service.stop()
    }
  }
  const [none, ...others] = sides
  return [
    figure('email callbacks at no backlog', '/s', none?.rates ?? []),
    ...others.flatMap(({ backlog, rates, memory }) => {
      const rows = backlog.toLocaleString('en')
      return [
        figure(`email callbacks at a backlog of ${rows}`, '/s', rates),
        atLeast(0.9, ratio(`a backlog of ${rows} to none`, rates, none?.rates ?? [])),
        figure(`resident memory at a backlog of ${rows}, most`, 'MB', memory),
      ]
    }),
  ]
}

async function fill(session: Session, env: Readonly<Record<string, string>>, rows: number): Promise<void> {
  if (rows === 0) return
  const filler = await startChild('./fill.ts', env)
  try {
    const seconds = await filler.ask<number>({ is: 'fill', rows })
    session.print(`backlog ${rows}: filled in ${seconds.toFixed(1)} s`)
  } finally {
    await filler.stop()
  }
}
