import { openCallbackLoad } from '../callbacks.ts'
import { atLeast, atMost, type Figure, figure } from '../figures.ts'
import type { LoopResult } from '../loop.ts'
import type { Session } from '../session.ts'

const CALLERS = 50
/** How long the mail server takes over a mail, ms. */
const LATENCIES = [5, 20, 100]
/** Numbers of connections that somebody might have set. */
const FIXED = [1, 2, 5, 10, 20, 50]
/** How long it has had load before it is measured, s. */
const WARM_UP = 1

/** The number of connections that finds itself, beside each fixed one, at mail servers of several speeds. */
export async function measureLimit(session: Session): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const ms of LATENCIES) {
    await session.sinks.email.ask({ is: 'latency', ms })
    try {
      figures.push(...(await measureAt(session, ms)))
    } finally {
      await session.sinks.email.ask({ is: 'latency', ms: 0 })
    }
  }
  return figures
}

async function measureAt(session: Session, ms: number): Promise<Figure[]> {
  const rates = new Map<number, number>()
  for (const fixed of FIXED) {
    const [loop] = await load(session, 1, { env: { SMTP_CONNECTIONS: String(fixed) } })
    rates.set(fixed, loop?.perSecond ?? 0)
    session.print(`mail server with ${ms} ms, ${fixed} connections: ${line(loop)}`)
  }
  const [best, bestRate] = [...rates].reduce((a, b) => (b[1] > a[1] ? b : a))
  const ours = await load(session, session.rounds, {})
  for (const loop of ours) session.print(`mail server with ${ms} ms, measured: ${line(loop)}`)
  const of = (what: string) => `${what}, mail server with ${ms} ms`
  return [
    figure(of(`best fixed number: ${best} connections`), '/s', [bestRate]),
    figure(
      of(`${CALLERS} callers, no setting`),
      '/s',
      ours.map(each => each.perSecond),
    ),
    atLeast(
      0.9,
      figure(
        of('rate to that of the best fixed number'),
        'ratio',
        ours.map(each => each.perSecond / bestRate),
      ),
    ),
    atMost(
      3,
      figure(
        of('p99 to callers ÷ rate'),
        'ratio',
        ours.map(each => each.p99Ms / ((CALLERS * 1000) / each.perSecond)),
      ),
    ),
    atMost(
      3,
      figure(
        of('p99 to p50'),
        'ratio',
        ours.map(each => each.p99Ms / each.p50Ms),
      ),
    ),
  ]
}

async function load(
  session: Session,
  rounds: number,
  options: Parameters<Session['startService']>[0],
): Promise<readonly LoopResult[]> {
  const service = await session.startService(options)
  const platform = await openCallbackLoad(session, service, 'email', CALLERS)
  const loops: LoopResult[] = []
  try {
    await platform.saturate(WARM_UP)
    for (let round = 1; round <= rounds; round++) loops.push(await platform.saturate(session.seconds))
    return loops
  } finally {
    platform.close()
    await service.stop()
  }
}

function line(loop: LoopResult | undefined): string {
  if (loop === undefined) return 'nothing'
  return `${Math.round(loop.perSecond)}/s, p50 ${loop.p50Ms.toFixed(1)} ms, p99 ${loop.p99Ms.toFixed(1)} ms`
}
