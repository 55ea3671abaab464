import { setTimeout as sleep } from 'node:timers/promises'
import type { Channel } from '../src/messages/message.ts'
import { SAMPLE_KINDS, type SampleKind } from '../src/platform/sample-callbacks.ts'
import { type ArrivalResult, answerFaults, checkMailArrival, checkSmsArrival } from './arrivals.ts'
import type { SentCallback } from './callback-sender.ts'
import type { Sandbox } from './sandbox.ts'
import type { SmsCarrier, StandIns } from './stand-ins.ts'

/** A callback that was sent once, and what became of it. */
export interface KindResult {
  readonly channel: Channel
  /** A kind's name, or `validate`. */
  readonly kind: string
  /** The SMS carrier that it should go by, for people; null for a mail or a validation. */
  readonly carrier: string | null
  readonly callback: SentCallback
  /** How often its message arrived; null for a validation, which sends nothing. */
  readonly arrived: number | null
  /** Its faults, in words; empty when there are none. */
  readonly faults: readonly string[]
  readonly files: ArrivalResult['files']
}

/** A kind to be sent, and to whom. */
interface Play {
  readonly kind: SampleKind
  readonly to: string
  readonly carrier: SmsCarrier | null
}

/** Each kind once, to a recipient of its own, and an SMS once by each carrier that can say it. */
function playsOf(carriers: readonly SmsCarrier[]): readonly Play[] {
  const mails = SAMPLE_KINDS.filter(({ channel }) => channel === 'email')
  const texts = SAMPLE_KINDS.filter(({ channel }) => channel === 'sms')
  return [
    ...mails.map((kind, at) => ({ kind, to: `reader-${at + 1}@example.com`, carrier: null })),
    ...carriers.flatMap(carrier =>
      texts
        .filter(({ kind }) => carrier.templates === undefined || Object.hasOwn(carrier.templates, kind))
        .map((kind, at) => ({ kind, to: carrier.number.slice(0, -2) + String(10 + at), carrier })),
    ),
  ]
}

/** How many results there are when all was sent in time. */
export function countExpected({ carriers }: Pick<StandIns, 'carriers'>): number {
  return 2 + playsOf(carriers).length
}

/** How long nothing more may arrive before "exactly once" is believed, ms. */
const QUIET_MS = 400

/**
 * Validates the URL of both channels and sends each of their kinds once, SMS by each carrier, each to a recipient of its
 * own, and checks whether each message arrived exactly once with the right words.
 *
 * @param withinMs when to stop waiting, from now. What was not sent by then is missing from the results.
 */
export async function sendEachKindOnce(
  { callbackSender, standIns }: Pick<Sandbox, 'callbackSender' | 'standIns'>,
  withinMs: number,
): Promise<readonly KindResult[]> {
  const deadline = performance.now() + withinMs
  const validations: KindResult[] = []
  for (const channel of ['email', 'sms'] as const) {
    const callback = await callbackSender.validate(channel)
    const faults = answerFaults(callback.answer)
    validations.push({
      channel,
      kind: 'validate',
      carrier: null,
      callback,
      arrived: null,
      faults,
      files: null,
    })
  }

  const sent = []
  for (const play of playsOf(standIns.carriers)) {
    if (performance.now() > deadline) break
    sent.push({ ...play, ...(await callbackSender.send(play.kind, play.to)) })
  }
  const countArrived = () => standIns.mails().length + standIns.sms().length
  const expected = sent.filter(({ callback }) => answerFaults(callback.answer).length === 0).length
  while (countArrived() < expected && performance.now() < deadline) await sleep(20)
  // A second copy of a message would come late, so this waits until nothing has arrived for a while.
  for (let before = -1; before !== countArrived() && performance.now() < deadline; await sleep(QUIET_MS))
    before = countArrived()

  return [
    ...validations,
    ...sent.map(({ kind, to, carrier, callback, sample }): KindResult => {
      const result =
        carrier === null
          ? checkMailArrival(standIns.mails(), to, sample)
          : checkSmsArrival(standIns.sms(), to, sample, carrier.title)
      const faults = [...answerFaults(callback.answer), ...result.faults]
      const { channel } = kind
      return { channel, kind: kind.kind, carrier: carrier?.title ?? null, callback, ...result, faults }
    }),
  ]
}
