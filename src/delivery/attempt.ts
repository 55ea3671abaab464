import type { Emit } from '../events/events.ts'
import type { Outgoing } from '../messages/message.ts'
import type { Outcome } from '../providers/provider.ts'
import { createObjectSet } from '../runtime/collections.ts'
import type { ChannelSpec, Job } from './channel-queue.ts'
import { redactOutcome } from './redact.ts'

/** Hands messages to providers. */
export interface Attempts {
  /** Tries once; whatever goes wrong becomes an outcome. */
  send(lane: ChannelSpec, job: Job): Promise<Outcome>
  /** Aborts those that run. */
  abort(): void
}

/** How long an aborted provider has to say how far it came, ms. */
const LAST_WORD_MS = 500
const OVERDUE: Outcome = {
  is: 'ambiguous',
  code: 'attempt-limit',
  reply: 'the provider did not come back in time',
}

/**
 * @param options.limitMs the longest that an attempt may take, ms. Providers have limits of their own, which are
 *   shorter: this one is for a provider that has lost one of its calls, which must not outlive its lease unnoticed.
 */
export function createAttempts(options: { readonly limitMs: number; readonly emit: Emit }): Attempts {
  const { limitMs, emit } = options
  const running = createObjectSet<AbortController>()

  async function within({ provider }: ChannelSpec, outgoing: Outgoing): Promise<Outcome> {
    const controller = new AbortController()
    let timer: NodeJS.Timeout | undefined
    const overdue = new Promise<Outcome>(resolve => {
      timer = setTimeout(() => {
        controller.abort()
        timer = setTimeout(() => resolve(OVERDUE), LAST_WORD_MS).unref()
      }, limitMs).unref()
    })
    const over = running.add(controller)
    try {
      return await Promise.race([provider.send(outgoing, controller.signal), overdue])
    } finally {
      clearTimeout(timer)
      over()
    }
  }

  return {
    async send(lane, job) {
      let outgoing: Outgoing
      try {
        outgoing = job.outgoing ?? lane.render(job.message)
      } catch (error) {
        const reply = `cannot be rendered: ${error instanceof Error ? error.name : 'unknown fault'}; look at the templates`
        return { is: 'retry', whose: 'ours', code: 'RENDER', reply }
      }
      try {
        return redactOutcome(await within(lane, outgoing), job.message.content)
      } catch (error) {
        // A bug in a provider. Nobody knows what it did before it threw.
        emit({ type: 'fault', error: error instanceof Error ? error : new Error('unknown fault') })
        return { is: 'ambiguous', code: 'FAULT', reply: 'an unexpected fault in the provider' }
      }
    },
    abort() {
      for (const controller of running) controller.abort()
    },
  }
}
