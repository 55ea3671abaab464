import { setTimeout as sleep } from 'node:timers/promises'
import type { Channel } from '../src/messages/message.ts'
import { SAMPLE_KINDS, type Sample, type SampleKind } from '../src/platform/sample-callbacks.ts'
import { isAnswered, type Judged, judgeMails, judgeSms } from './arrivals.ts'
import type { Played } from './player.ts'
import type { Stage } from './stage.ts'

/** One thing that was played, and what became of it. */
export interface Row {
  readonly channel: Channel
  /** A kind's name, or `validate`. */
  readonly kind: string
  readonly played: Played
  /** How often it arrived; null for a validation, which sends nothing. */
  readonly arrived: number | null
  /** What is wrong with it, in words; empty when nothing is. */
  readonly faults: readonly string[]
  /** What arrived, to be kept for looking at. */
  readonly kept: Judged['kept']
}

/** How long nothing more may come before "exactly once" is believed, ms. */
const QUIET_MS = 400
const CHANNELS: readonly Channel[] = ['email', 'sms']

interface Sent {
  readonly kind: SampleKind
  readonly to: string
  readonly played: Played
  readonly sample: Sample
}

/**
 * Plays the validation and each kind of both channels once, each to a recipient of its own, and looks whether each
 * arrived exactly once with the right words.
 *
 * @param withinMs when to stop waiting, from now. What was not played by then is missing from the rows.
 */
export async function playOnce(
  { player, peers }: Pick<Stage, 'player' | 'peers'>,
  withinMs: number,
): Promise<readonly Row[]> {
  const deadline = performance.now() + withinMs
  const validations: Row[] = []
  for (const channel of CHANNELS) {
    const played = await player.validate(channel)
    const faults = isAnswered(played.answer)
    validations.push({ channel, kind: 'validate', played, arrived: null, faults, kept: null })
  }

  const sent: Sent[] = []
  for (const [at, kind] of SAMPLE_KINDS.entries()) {
    if (performance.now() > deadline) break
    const to = kind.channel === 'email' ? `reader-${at + 1}@example.com` : `+8613800138${String(100 + at)}`
    sent.push({ kind, to, ...(await player.send(kind, to)) })
  }
  const count = () => peers.inbox.mails().length + peers.sms().length
  const promised = sent.filter(({ played }) => isAnswered(played.answer).length === 0).length
  while (count() < promised && performance.now() < deadline) await sleep(20)
  // One too many would come late: wait until nothing has moved for a while.
  for (let before = -1; before !== count() && performance.now() < deadline; await sleep(QUIET_MS))
    before = count()

  return [
    ...validations,
    ...sent.map(({ kind, to, played, sample }): Row => {
      const judged =
        kind.channel === 'email'
          ? judgeMails(peers.inbox.mails(), to, sample)
          : judgeSms(peers.sms(), to, sample)
      const faults = [...isAnswered(played.answer), ...judged.faults]
      return { channel: kind.channel, kind: kind.kind, played, ...judged, faults }
    }),
  ]
}
