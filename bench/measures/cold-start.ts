import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atMost, type Figure, figure } from '../figures.ts'
import { buildPost, expectErrCodeZero, openClient } from '../https-client.ts'
import { emailCallback, smsCallback } from '../numbered-callbacks.ts'
import { createSettings, freePort, PATHS, spawnService, stopProcess } from '../service.ts'
import type { Channel, Session } from '../session.ts'

const REACH_SECONDS = 1

/** From the start of the process to the first callback that is answered, its message delivered. */
export async function measureColdStart(session: Session): Promise<Figure[]> {
  const took: Record<Channel, number[]> = { email: [], sms: [] }
  for (let round = 1; round <= session.rounds; round++)
    for (const channel of ['email', 'sms'] as const) {
      const seconds = await start(session, channel)
      took[channel].push(seconds)
      session.print(`cold start ${round}: first ${channel} callback answered after ${seconds.toFixed(2)} s`)
    }
  return (['email', 'sms'] as const).map(channel =>
    atMost(REACH_SECONDS, figure(`cold start to the first answered ${channel} callback`, 's', took[channel])),
  )
}

async function start(session: Session, channel: Channel): Promise<number> {
  const { certificate, ports } = session
  const directory = await mkdtemp(join(tmpdir(), 'courier-bench-'))
  const port = await freePort()
  const env = await createSettings(
    { certificate, smtpPort: ports.email, twilioPort: ports.sms },
    directory,
    port,
  )
  const number = session.numbers.next()
  const { body } = channel === 'email' ? emailCallback(number) : smsCallback(number)
  const began = performance.now()
  const child = spawnService(env, directory, join(directory, 'log'))
  try {
    const client = await connected(port, certificate.cert, began)
    await client.saturate(0.001, () => ({
      request: buildPost(PATHS[channel], body),
      check: expectErrCodeZero,
    }))
    const seconds = (performance.now() - began) / 1000
    client.close()
    await session.waitForArrival(channel, number, number)
    return seconds
  } finally {
    await stopProcess(child)
    await rm(directory, { recursive: true, force: true })
  }
}

async function connected(port: number, ca: string, began: number): ReturnType<typeof openClient> {
  for (;;) {
    try {
      return await openClient({ port, ca, connections: 1 })
    } catch (error) {
      if (performance.now() - began > 20_000) throw new Error('the service does not listen', { cause: error })
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  }
}
