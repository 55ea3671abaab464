import { setTimeout as sleep } from 'node:timers/promises'
import type { Channel } from '../src/messages/message.ts'
import { SAMPLE_KINDS } from '../src/platform/sample-callbacks.ts'
import { type ArrivalResult, answerFaults, checkMailArrival, checkSmsArrival } from './arrivals.ts'
import type { SentCallback } from './callback-sender.ts'
import type { Sandbox } from './sandbox.ts'

/** A callback that was sent once, and what became of it. */
export interface KindResult {
  readonly channel: Channel
  /** A kind's name, or `validate`. */
  readonly kind: string
  readonly callback: SentCallback
  /** How often its message arrived; null for a validation, which sends nothing. */
  readonly arrived: number | null
  /** What is wrong with it, in words; empty when nothing is. */
  readonly faults: readonly string[]
  readonly files: ArrivalResult['files']
}

/** How long nothing more may arrive before "exactly once" is believed, ms. */
const QUIET_MS = 400

/**
 * Validates the URL of both channels and sends each of their kinds once, each to a recipient of its own, and checks
 * whether each message arrived exactly once with the right words.
 *
 * @param withinMs when to stop waiting, from now. What was not sent by then is missing from the results.
 */
export async function sendEachKindOnce(
  { callbackSender, peers }: Pick<Sandbox, 'callbackSender' | 'peers'>,
  withinMs: number,
): Promise<readonly KindResult[]> {
  const deadline = performance.now() + withinMs
  const validations: KindResult[] = []
  for (const channel of ['email', 'sms'] as const) {
    const callback = await callbackSender.validate(channel)
    const faults = answerFaults(callback.answer)
    validations.push({ channel, kind: 'validate', callback, arrived: null, faults, files: null })
  }

  const sent = []
  for (const [at, kind] of SAMPLE_KINDS.entries()) {
    if (performance.now() > deadline) break
    const to = kind.channel === 'email' ? `reader-${at + 1}@example.com` : `+8613800138${String(100 + at)}`
    sent.push({ kind, to, ...(await callbackSender.send(kind, to)) })
  }
  const countArrived = () => peers.mails().length + peers.sms().length
  const expected = sent.filter(({ callback }) => answerFaults(callback.answer).length === 0).length
  while (countArrived() < expected && performance.now() < deadline) await sleep(20)
  // A second copy of a message would come late, so this waits until nothing has arrived for a while.
  for (let before = -1; before !== countArrived() && performance.now() < deadline; await sleep(QUIET_MS))
    before = countArrived()

  return [
    ...validations,
    ...sent.map(({ kind, to, callback, sample }): KindResult => {
      const result =
        kind.channel === 'email'
          ? checkMailArrival(peers.mails(), to, sample)
          : checkSmsArrival(peers.sms(), to, sample)
      const faults = [...answerFaults(callback.answer), ...result.faults]
      return { channel: kind.channel, kind: kind.kind, callback, ...result, faults }
    }),
  ]
}
