import { openCallbackLoad } from '../callbacks.ts'
import { readMemory, watchUsage } from '../child.ts'
import { atMost, type Figure, figure } from '../figures.ts'
import type { Session } from '../session.ts'

const CONNECTIONS = { email: 64, sms: 200 }
const STEADY_PER_SECOND = 500
/** The service looks for garbage every 2 s while it is idle. */
const CALM_MS = 5000
const AFTER_BURST_MS = 60_000

/**
 * Resident memory of the service at a steady rate, at the highest one, and a minute after that beside what it was idle.
 * Each round is a process of its own.
 */
export async function measureMemory(session: Session): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const channel of ['email', 'sms'] as const) {
    const steady: number[] = []
    const highest: number[] = []
    const grown: number[] = []
    for (let round = 1; round <= session.rounds; round++) {
      const service = await session.startService()
      const load = await openCallbackLoad(session, service, channel, CONNECTIONS[channel])
      const usage = watchUsage(service.pid)
      try {
        await load.sendAtRate(1, 1)
        await calm(CALM_MS)
        const idle = readMemory(service.pid).residentMb
        usage.read()
        await load.sendAtRate(STEADY_PER_SECOND, session.seconds)
        steady.push(usage.read().peakMb)
        const { perSecond } = await load.saturate(session.seconds)
        highest.push(usage.read().peakMb)
        await calm(AFTER_BURST_MS)
        grown.push(readMemory(service.pid).residentMb - idle)
        session.print(
          `${channel}, ${round}: idle ${Math.round(idle)} MB, at ${STEADY_PER_SECOND}/s ${Math.round(steady.at(-1) ?? 0)}, at ${Math.round(perSecond)}/s ${Math.round(highest.at(-1) ?? 0)}, a minute later ${Math.round(grown.at(-1) ?? 0)} above idle`,
        )
      } finally {
        usage.stop()
        load.close()
        await session.stopServices()
      }
    }
    figures.push(
      atMost(190, figure(`${channel}: resident at ${STEADY_PER_SECOND}/s`, 'MB', steady)),
      atMost(260, figure(`${channel}: resident at the highest rate`, 'MB', highest)),
      atMost(30, figure(`${channel}: above idle a minute after the highest rate`, 'MB', grown)),
    )
  }
  return figures
}

const calm = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
