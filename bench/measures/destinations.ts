import { openCallbackLoad } from '../callbacks.ts'
import { type Figure, figure, ratio } from '../figures.ts'
import type { Session } from '../session.ts'

const CONNECTIONS = 64
const COUNTS = [1, 10, 10_000] as const

/** The rate of mails to one recipient domain, to ten, and to ten thousand, in turns on one service. */
export async function measureDestinations(session: Session): Promise<Figure[]> {
  const rates = new Map<number, number[]>(COUNTS.map(count => [count, []]))
  const service = await session.startService()
  try {
    for (let round = 0; round <= session.rounds; round += 1)
      for (const count of COUNTS) {
        const load = await openCallbackLoad(session, service, 'email', CONNECTIONS, count)
        const { perSecond } = await load.saturate(session.seconds)
        load.close()
        session.print(`${count} destinations, ${round}: ${Math.round(perSecond)}/s`)
        // The first warms up.
        if (round > 0) rates.get(count)?.push(perSecond)
      }
  } finally {
    await service.stop()
  }
  const one = rates.get(1) ?? []
  return COUNTS.flatMap(count => [
    figure(`mails to ${count} domains`, '/s', rates.get(count) ?? []),
    ...(count === 1 ? [] : [ratio(`mails to ${count} domains, to one`, rates.get(count) ?? [], one)]),
  ])
}
