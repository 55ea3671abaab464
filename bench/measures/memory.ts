import { openCallbackLoad } from '../callbacks.ts'
import { readMemory, watchUsage } from '../child.ts'
import { atMost, type Figure, figure, ratio } from '../figures.ts'
import type { Channel, Session } from '../session.ts'

const CONNECTIONS = { email: 64, sms: 100 }
const STEADY_PER_SECOND = 500
/** The service looks for garbage every 2 s while it is idle. */
const CALM_MS = 5000
const AFTER_BURST_MS = 60_000
const PLAIN = './baselines/plain-service.ts'

/** Resident memory of a process, MB. */
interface Round {
  readonly idle: number
  /** The most at the steady rate. */
  readonly steady: number
  /** The most at the highest rate. */
  readonly highest: number
  /** A minute after that, above idle. */
  readonly grown: number
}

/**
 * Resident memory of the service at a steady rate, at the highest one, and a minute after that beside what it was idle; and
 * of a plain service that does no more than pass messages on, in turns. Each round is a process of its own.
 */
export async function measureMemory(session: Session): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const channel of ['email', 'sms'] as const) {
    const ours: Round[] = []
    const plain: Round[] = []
    for (let round = 1; round <= session.rounds; round++) {
      plain.push(await measureRound(session, channel, `plain service, ${channel}, ${round}`, PLAIN))
      ours.push(await measureRound(session, channel, `${channel}, ${round}`))
    }
    const each = (what: string, pick: keyof Round, limit: number): readonly Figure[] => {
      const [mine, theirs] = [ours.map(one => one[pick]), plain.map(one => one[pick])]
      return [
        atMost(limit, figure(`${channel}: ${what}`, 'MB', mine)),
        figure(`plain service, ${channel}: ${what}`, 'MB', theirs),
        // Of a difference that may be nought no ratio says anything.
        ...(pick === 'grown' ? [] : [ratio(`${channel}: ${what}, to the plain service`, mine, theirs)]),
      ]
    }
    figures.push(
      ...each(`resident at ${STEADY_PER_SECOND}/s`, 'steady', 190),
      ...each('resident at the highest rate', 'highest', 260),
      ...each('above idle a minute after the highest rate', 'grown', 30),
    )
  }
  return figures
}

async function measureRound(
  session: Session,
  channel: Channel,
  name: string,
  program?: string,
): Promise<Round> {
  const service = await session.startService(program === undefined ? {} : { program })
  const load = await openCallbackLoad(session, service, channel, CONNECTIONS[channel])
  const usage = watchUsage(service.pid)
  try {
    await load.sendAtRate(1, 1)
    await calm(CALM_MS)
    const idle = readMemory(service.pid).residentMb
    usage.read()
    await load.sendAtRate(STEADY_PER_SECOND, session.seconds)
    const steady = usage.read().peakMb
    const { perSecond } = await load.saturate(session.seconds)
    const highest = usage.read().peakMb
    await calm(AFTER_BURST_MS)
    const grown = readMemory(service.pid).residentMb - idle
    session.print(
      `${name}: idle ${Math.round(idle)} MB, at ${STEADY_PER_SECOND}/s ${Math.round(steady)}, at ${Math.round(perSecond)}/s ${Math.round(highest)}, a minute later ${Math.round(grown)} above idle`,
    )
    return { idle, steady, highest, grown }
  } finally {
    usage.stop()
    load.close()
    await session.stopServices()
  }
}

const calm = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
