import { type CallbackLoad, openCallbackLoad } from '../callbacks.ts'
import { readMemory, watchUsage } from '../child.ts'
import { atLeast, atMost, type Figure, figure, ratio } from '../figures.ts'
import type { Service } from '../service.ts'
import type { Channel, Session } from '../session.ts'

const CONNECTIONS = { email: 64, sms: 100 } as const
const IDLE_AFTER_MS = 5000
const CHANNELS: readonly Channel[] = ['email', 'sms']
const WHICH = ['ours', 'theirs'] as const
/** In a pair each is under full load so often, a second each time: a machine's speed changes within seconds. */
const TURNS = 6
/** For so long what runs is not yet compiled for speed. */
const WARM_UP_SECONDS = 4

/** How one of a pair did. */
interface Measured {
  startSeconds: number
  idleMb: number
  readonly rates: Record<Channel, number>
  readonly mostMb: Record<Channel, number>
}

/**
 * This service beside that of another checkout (`--beside FOLDER`), in pairs that run at the same time, each under load in its turns:
 * start, memory when idle, rate and memory under full load. Which of a pair goes first changes.
 */
export async function measureBeside(session: Session): Promise<Figure[]> {
  const { beside } = session
  if (beside === undefined) throw new Error('beside needs --beside FOLDER, a checkout with its packages')
  const pairs: (readonly [Measured, Measured])[] = []
  for (let round = 0; round <= session.rounds; round += 1) {
    const pair = await playPair(session, `${beside}/src/main.ts`, round)
    // The first warms the machine up.
    if (round > 0) pairs.push(pair)
    for (const [at, { startSeconds, idleMb, rates, mostMb }] of pair.entries())
      session.print(
        `${WHICH[at]}, ${round}: started in ${startSeconds.toFixed(2)} s, idle at ${Math.round(idleMb)} MB; ${CHANNELS.map(each => `${each} ${Math.round(rates[each])}/s, ${Math.round(mostMb[each])} MB`).join('; ')}`,
      )
  }
  const all = (at: 0 | 1, pick: (measured: Measured) => number) => pairs.map(pair => pick(pair[at]))
  const compare = (what: string, pick: (measured: Measured) => number): Figure =>
    ratio(`${what}, to the other`, all(0, pick), all(1, pick))
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
        all(0, each => each.rates[channel]),
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

async function playPair(session: Session, other: string, round: number): Promise<[Measured, Measured]> {
  const order = round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)
  const pair = [measured(), measured()] as [Measured, Measured]
  const services: Service[] = []
  try {
    for (const at of order) {
      const began = performance.now()
      services[at] = await session.startService(at === 0 ? {} : { program: other })
      pair[at].startSeconds = (performance.now() - began) / 1000
      await new Promise(resolve => setTimeout(resolve, IDLE_AFTER_MS))
      pair[at].idleMb = readMemory(services[at].pid).residentMb
    }
    for (const channel of CHANNELS) await playTurns(session, services, pair, channel)
    return pair
  } finally {
    await session.stopServices()
  }
}

const measured = (): Measured => ({
  startSeconds: 0,
  idleMb: 0,
  rates: { email: 0, sms: 0 },
  mostMb: { email: 0, sms: 0 },
})

/** Has both of a pair answer as many callbacks as they can, in turns. */
async function playTurns(
  session: Session,
  services: readonly Service[],
  pair: readonly [Measured, Measured],
  channel: Channel,
): Promise<void> {
  const watched = services.map(({ pid }) => watchUsage(pid))
  const loads: CallbackLoad[] = []
  for (const service of services) {
    const load = await openCallbackLoad(session, service, channel, CONNECTIONS[channel])
    await load.saturate(WARM_UP_SECONDS)
    loads.push(load)
  }
  for (const each of watched) each.read()
  for (let turn = 0; turn < TURNS; turn += 1)
    for (const at of turn % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const))
      pair[at].rates[channel] += ((await loads[at]?.saturate(1))?.perSecond ?? 0) / TURNS
  for (const at of [0, 1] as const) {
    pair[at].mostMb[channel] = watched[at]?.read().peakMb ?? 0
    watched[at]?.stop()
    loads[at]?.close()
  }
}
