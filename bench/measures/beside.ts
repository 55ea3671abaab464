import { openCallbackLoad } from '../callbacks.ts'
import { readMemory, watchUsage } from '../child.ts'
import { atLeast, atMost, type Figure, figure, ratio } from '../figures.ts'
import type { Channel, Session } from '../session.ts'

const CONNECTIONS = { email: 64, sms: 100 } as const
const IDLE_AFTER_MS = 5000
const CHANNELS: readonly Channel[] = ['email', 'sms']

/** What a process did in one turn. */
interface Turn {
  readonly startSeconds: number
  readonly idleMb: number
  readonly rates: Readonly<Record<Channel, number>>
  readonly mostMb: Readonly<Record<Channel, number>>
}

/**
 * This service beside that of another checkout (`--beside FOLDER`), in turns, each turn a process of its own: start, memory when idle,
 * rate and memory under full load. Which of a pair goes first changes from pair to pair.
 */
export async function measureBeside(session: Session): Promise<Figure[]> {
  const { beside } = session
  if (beside === undefined) throw new Error('beside needs --beside FOLDER, a checkout with its packages')
  const turns: { readonly ours: Turn[]; readonly theirs: Turn[] } = { ours: [], theirs: [] }
  for (let round = 0; round <= session.rounds; round += 1)
    for (const which of round % 2 === 0 ? (['ours', 'theirs'] as const) : (['theirs', 'ours'] as const)) {
      const turn = await playTurn(session, which === 'ours' ? undefined : `${beside}/src/main.ts`)
      // The first warms the machine up.
      if (round > 0) turns[which].push(turn)
      const { startSeconds, idleMb, rates, mostMb } = turn
      session.print(
        `${which}, ${round}: started in ${startSeconds.toFixed(2)} s, idle at ${Math.round(idleMb)} MB; ${CHANNELS.map(each => `${each} ${Math.round(rates[each])}/s, ${Math.round(mostMb[each])} MB`).join('; ')}`,
      )
    }
  const compare = (what: string, pick: (turn: Turn) => number): Figure =>
    ratio(`${what}, to the other`, turns.ours.map(pick), turns.theirs.map(pick))
  return [
    atMost(
      1.1,
      compare('start', each => each.startSeconds),
    ),
    atMost(
      1.1,
      compare('idle memory', each => each.idleMb),
    ),
    ...CHANNELS.flatMap(channel => [
      figure(
        `${channel} callbacks`,
        '/s',
        turns.ours.map(each => each.rates[channel]),
      ),
      atLeast(
        0.9,
        compare(`${channel} callbacks`, each => each.rates[channel]),
      ),
      atMost(
        1.1,
        compare(`${channel}: memory at full rate`, each => each.mostMb[channel]),
      ),
    ]),
  ]
}

async function playTurn(session: Session, program: string | undefined): Promise<Turn> {
  const began = performance.now()
  const service = await session.startService(program === undefined ? {} : { program })
  const startSeconds = (performance.now() - began) / 1000
  const usage = watchUsage(service.pid)
  try {
    await new Promise(resolve => setTimeout(resolve, IDLE_AFTER_MS))
    const idleMb = readMemory(service.pid).residentMb
    const rates = { email: 0, sms: 0 }
    const mostMb = { email: 0, sms: 0 }
    for (const channel of CHANNELS) {
      const load = await openCallbackLoad(session, service, channel, CONNECTIONS[channel])
      await load.saturate(Math.min(2, session.seconds))
      usage.read()
      rates[channel] = (await load.saturate(session.seconds)).perSecond
      mostMb[channel] = usage.read().peakMb
      load.close()
    }
    return { startSeconds, idleMb, rates, mostMb }
  } finally {
    usage.stop()
    await session.stopServices()
  }
}
