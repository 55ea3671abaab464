import { buildPost, type Client, expectErrCodeZero, GREETING, openClient } from './https-client.ts'
import type { LoopResult } from './loop.ts'
import { emailCallback, smsCallback } from './numbered-callbacks.ts'
import { PATHS, type Service } from './service.ts'
import type { Channel, Session } from './session.ts'

const WARM_CALLBACKS = 8000

/** Sends callbacks to a running service as the platform does, and checks that each message arrives. */
export interface CallbackLoad {
  /** Sends so many callbacks that V8 has compiled what they run, however slow the machine is just now. */
  warmUp(): Promise<void>
  /** Sends as many callbacks as the connections carry. */
  saturate(seconds: number): Promise<LoopResult>
  /** Sends callbacks at even intervals. */
  sendAtRate(perSecond: number, seconds: number): Promise<LoopResult>
  close(): void
}

/** @param destinations so many domains the mails go to, in turn. */
export async function openCallbackLoad(
  session: Session,
  service: Service,
  channel: Channel,
  connections: number,
  destinations = 1,
): Promise<CallbackLoad> {
  // At a steady rate the last of many connections is used late, and the service hangs up on who says nothing.
  const client: Client = await openClient({
    port: service.port,
    ca: session.certificate.cert,
    connections,
    greeting: GREETING,
  })
  const make = (number: number) =>
    channel === 'email' ? emailCallback(number, number % destinations) : smsCallback(number)
  const next = (): { request: string; check: typeof expectErrCodeZero } => ({
    request: buildPost(PATHS[channel], make(session.numbers.next()).body),
    check: expectErrCodeZero,
  })
  const checked = async (run: () => Promise<LoopResult>): Promise<LoopResult> => {
    const from = session.numbers.taken() + 1
    const loop = await run()
    await session.waitForArrival(channel, from, session.numbers.taken())
    return loop
  }
  const saturate = async (seconds: number): Promise<LoopResult> =>
    checked(async () => client.saturate(seconds, next))
  return {
    async warmUp() {
      for (let done = 0, tries = 0; done < WARM_CALLBACKS && tries < 20; tries += 1)
        done += (await saturate(2)).done
    },
    saturate,
    sendAtRate: async (perSecond, seconds) =>
      checked(async () => client.sendAtRate(perSecond, seconds, next)),
    close: () => client.close(),
  }
}
