import { deriveCallbackKey } from '../../src/callback/authenticate.ts'
import { type Callback, createCallbacks } from '../faults/callbacks.ts'
import { type Answered, createDriver } from '../faults/driver.ts'
import { pause } from '../faults/stage.ts'
import type { Replica } from './replica.ts'

export const CORP = 'chaos-run'
export const TOKEN = { email: 'chaos-email-token-long-enough', sms: 'chaos-sms-token-long-enough-x' } as const

export interface Platform {
  readonly record: readonly Answered[]
  /** How many callbacks were given to two replicas at once. */
  twins(): number
  stop(): Promise<void>
}

export interface PlatformOptions {
  readonly replicas: readonly Pick<Replica, 'at' | 'ready'>[]
  readonly ca: string
  readonly callers: Readonly<Record<'email' | 'sms', number>>
  /** Mean time between an answer and the caller's next callback, ms. */
  readonly thinkMs: number
  readonly random: () => number
  /** How long it waits for an answer, ms. */
  readonly answerMs?: number
  /** After how long it says again what got no answer, or 503, ms. */
  readonly againMs?: number
}

/** What a platform waits for an answer. */
const ANSWER_MS = 4000
/** A callback is said again for so long; the store knows it as the same one for longer. */
const PERSIST_MS = 15_000
/** Share of the callbacks that are given to two replicas at once. */
const TWIN_SHARE = 0.02
const LIFE_MS = 24 * 3_600_000

/** Posts callbacks round-robin to the replicas that are ready; what gets no answer, or 503, is said again. */
export function startPlatform(options: PlatformOptions): Platform {
  const { replicas, ca, callers, thinkMs, random, answerMs = ANSWER_MS, againMs = 500 } = options
  const callbackOf = createCallbacks()
  let turn = 0
  let twins = 0
  let stopped = false

  /** Of the next one that is ready; of the next one at all when none is. */
  function urls(): Partial<Record<'email' | 'sms', string>> {
    const listening = replicas.filter(each => each.at() !== null)
    const ready = listening.filter(each => each.ready())
    const chosen = ready.length > 0 ? ready : listening
    const at = chosen[(turn += 1) % Math.max(chosen.length, 1)]?.at()
    if (at === null || at === undefined) return {}
    const url = (channel: 'email' | 'sms') =>
      `${at.publicUrl}/callback/${CORP}/${deriveCallbackKey(channel, CORP, TOKEN[channel])}/${channel}`
    return { email: url('email'), sms: url('sms') }
  }
  const driver = createDriver({ urls, ca, connections: 64, timeoutMs: answerMs })

  async function persist(callback: Callback): Promise<void> {
    const until = performance.now() + PERSIST_MS
    for (;;) {
      while (replicas.every(each => each.at() === null)) await pause(20)
      const { status } = await driver.post(callback)
      if ((status !== undefined && status !== 503) || performance.now() > until) return
      await pause(againMs)
    }
  }

  async function call(channel: 'email' | 'sms'): Promise<void> {
    while (!stopped) {
      const callback = callbackOf(channel, { lifeMs: LIFE_MS })
      if (random() < TWIN_SHARE) {
        twins += 1
        await Promise.all([persist(callback), persist(callback)])
      } else await persist(callback)
      await pause(random() * 2 * thinkMs)
    }
  }

  const all = (['email', 'sms'] as const).flatMap(channel =>
    Array.from({ length: callers[channel] }, () => call(channel)),
  )
  return {
    record: driver.record,
    twins: () => twins,
    async stop() {
      stopped = true
      await Promise.all(all)
      await driver.close()
    },
  }
}
