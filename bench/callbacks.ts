import { emailCallback, smsCallback } from './distinct.ts'
import { type Client, mustBeZero, openClient, postOf } from './https-client.ts'
import type { Loop } from './loop.ts'
import { PATHS, type Service } from './service.ts'
import type { Channel, Stage } from './stage.ts'

/** Plays the platform against a running service; every message is checked for its arrival. */
export interface Platform {
  /** As many callbacks as `connections` carry. */
  full(seconds: number): Promise<Loop>
  /** Callbacks at even intervals. */
  paced(perSecond: number, seconds: number): Promise<Loop>
  close(): void
}

export async function openPlatform(
  stage: Stage,
  service: Service,
  channel: Channel,
  connections: number,
): Promise<Platform> {
  const client: Client = await openClient({ port: service.port, ca: stage.certificate.cert, connections })
  const make = channel === 'email' ? emailCallback : smsCallback
  const next = (): { request: string; check: typeof mustBeZero } => ({
    request: postOf(PATHS[channel], make(stage.numbers.next()).body),
    check: mustBeZero,
  })
  const checked = async (run: () => Promise<Loop>): Promise<Loop> => {
    const from = stage.numbers.taken() + 1
    const loop = await run()
    await stage.arrived(channel, from, stage.numbers.taken())
    return loop
  }
  return {
    full: async seconds => checked(async () => client.full(seconds, next)),
    paced: async (perSecond, seconds) => checked(async () => client.paced(perSecond, seconds, next)),
    close: () => client.close(),
  }
}
