import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../test/rigs/free-port.ts'
import { cpuMs, type Memory, readMemory } from '../child.ts'
import { atMost, type Figure, figure } from '../figures.ts'
import { buildPost, expectErrCodeZero, openClient } from '../https-client.ts'
import { emailCallback, smsCallback } from '../numbered-callbacks.ts'
import { createSettings, PATHS, spawnService, stopProcess } from '../service.ts'
import type { Channel, Session } from '../session.ts'

/** A program that takes the callbacks, and what its start should keep to. */
interface Candidate {
  readonly name: string
  /** Of this folder's parent. */
  readonly program: string
  /** Whether it gets the image's setting of a compile cache, which is filled by the round that does not count. */
  readonly cached: boolean
  readonly limits?: { readonly seconds: number; readonly megabytes: number }
}

const CANDIDATES: readonly Candidate[] = [
  { name: 'plain service', program: './baselines/plain-service.ts', cached: true },
  {
    name: 'as the image starts it',
    program: '../src/main.ts',
    cached: true,
    limits: { seconds: 0.55, megabytes: 115 },
  },
  {
    name: 'from sources',
    program: '../src/main.ts',
    cached: false,
    limits: { seconds: 0.75, megabytes: 130 },
  },
]
/** From the first answered callback until the memory is read, ms: the service has calmed down by then. */
const IDLE_AFTER_MS = 5000

type Started = Memory & { readonly seconds: number; readonly cpuMs: number }

/**
 * From the start of the process to the first callback that is answered, its message delivered, and the memory of the idle
 * process then; of the service and of a plain Fastify service that does no more than pass messages on.
 */
export async function measureStart(session: Session): Promise<Figure[]> {
  const cache = await mkdtemp(join(tmpdir(), 'courier-bench-cache-'))
  const took = new Map<string, Started[]>()
  try {
    for (let round = 0; round <= session.rounds; round++)
      for (const channel of ['email', 'sms'] as const)
        for (const candidate of CANDIDATES) {
          const started = await start(session, candidate, channel, cache)
          // The first fills the cache.
          if (round === 0) continue
          const key = `${candidate.name}, ${channel} first`
          took.set(key, [...(took.get(key) ?? []), started])
          session.print(
            `${key}, ${round}: answered after ${started.seconds.toFixed(2)} s (${started.cpuMs} ms of CPU), idle at ${Math.round(started.residentMb)} MB (${Math.round(started.anonymousMb)} MB anonymous)`,
          )
        }
  } finally {
    await rm(cache, { recursive: true, force: true })
  }
  return CANDIDATES.flatMap(({ name, limits }) =>
    (['email', 'sms'] as const).flatMap(channel => {
      const key = `${name}, ${channel} first`
      const rounds = (what: string, unit: string, pick: (one: Started) => number, limit?: number) => {
        const measured = figure(`${key}: ${what}`, unit, took.get(key)?.map(pick) ?? [])
        return limit === undefined ? measured : atMost(limit, measured)
      }
      return [
        rounds('start to answer', 's', one => one.seconds, limits?.seconds),
        rounds('processor time until then', 'ms', one => one.cpuMs),
        rounds('idle', 'MB', one => one.residentMb, limits?.megabytes),
        rounds('idle, anonymous', 'MB', one => one.anonymousMb),
      ]
    }),
  )
}

async function start(
  session: Session,
  { program, cached }: Candidate,
  channel: Channel,
  cache: string,
): Promise<Started> {
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
  const child = spawnService(
    cached ? { ...env, NODE_COMPILE_CACHE: cache } : env,
    directory,
    join(directory, 'log'),
    program,
  )
  try {
    const client = await connected(port, certificate.cert, began)
    await client.saturate(0.001, () => ({
      request: buildPost(PATHS[channel], body),
      check: expectErrCodeZero,
    }))
    const seconds = (performance.now() - began) / 1000
    const spentMs = cpuMs(child.pid ?? 0)
    client.close()
    await session.waitForArrival(channel, number, number)
    await new Promise(resolve => setTimeout(resolve, IDLE_AFTER_MS))
    return { seconds, cpuMs: spentMs, ...readMemory(child.pid ?? 0) }
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
