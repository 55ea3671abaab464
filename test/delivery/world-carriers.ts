import { quote } from '../../src/language/sentence.ts'
import type { Channel, Outgoing } from '../../src/messages/message.ts'
import type { LookUp, Outcome, Provider } from '../../src/providers/provider.ts'
import type { Timeline } from './simulation.ts'

/** The providers of a simulated world: outcomes and durations of every kind, answers that are lost, look-ups that say little. */

/** How many copies of a message may go out, as docs/durability.md promises. */
export const MOST_COPIES = { email: 4, sms: 2 }

const SECOND = 1000
/** How long a provider that swallowed a message is waited for. */
const REPLY_LIMIT_MS = 30 * SECOND

const MODES = ['well', 'well', 'slow', 'dead', 'silent', 'lost', 'busy', 'crowded', 'throttled'] as const
/** What a carrier of SMS does beside. */
const CARRIER_MODES = [...MODES, 'lost', 'limited', 'used up', 'locked out', 'closed country'] as const
type Mode = (typeof CARRIER_MODES)[number]

/** A copy of a message that went to a provider, which alone knows all of this. */
export interface Copy {
  readonly provider: string
  arrived: boolean
  /** The provider is still at it, whoever asked. */
  pending: boolean
  /** Nobody here can know that it did not arrive: no process heard so, and the provider did not say so when it was asked. */
  mayHaveCome: boolean
  /** Its provider was asked what became of it since the latest copy left. */
  wasAskedFor: boolean
}

/** What has happened to one message, which only its providers know. */
export interface Truth {
  readonly copies: Copy[]
  /** Some provider said that its recipient or content will not do. */
  rejected: boolean
  /** Providers that have said that its number may have no more for now, or that they do not serve its country. */
  readonly deniedBy: Set<string>
  /** A process was killed that had noted that it begins. */
  doubted: boolean
}

/** What a provider of a world needs of it. */
export interface CarrierWorld {
  readonly time: Timeline
  readonly random: () => number
  readonly channel: Channel
  /** How long a message takes there, ms. */
  readonly mailMs: number
  readonly most: number
  readonly truthOf: (id: string) => Truth
  readonly breach: (what: string) => void
  /** Tells whether the process that asks now still lives, whenever it is called. */
  readonly watchCaller: () => () => boolean
  /** The account of a provider is used up: messages may wait for it for longer than they live. */
  readonly noteUsedUp: () => void
  /** Called before each copy leaves. */
  readonly checkSend: (outgoing: Outgoing) => void
}

export interface WorldCarrier {
  readonly provider: Provider
  /** Goes on in another mode, or in this one. */
  change(mode?: Mode): void
}

const later = (code: string) => ({ is: 'retry', whose: 'later', code, reply: '' }) as const

/** @param fits whether it can send a message at all. */
export function createWorldCarrier(
  world: CarrierWorld,
  name: string,
  { canBeAsked, fits }: { readonly canBeAsked: boolean; readonly fits: (recipient: string) => boolean },
): WorldCarrier {
  const { time, random, channel, truthOf, breach } = world
  const between = (low: number, high: number): number => low + random() * (high - low)
  const serving = new Set<Outgoing>()
  let mode: Mode = 'well'

  /** No copy may leave that nobody needs: the whole promise about copies, at the moment at which it can be broken. */
  function checkCopy(id: string): void {
    const open = truthOf(id).copies.filter(({ mayHaveCome }) => mayHaveCome)
    if (open.length >= MOST_COPIES[channel]) breach(`${id} is sent once more than it may`)
    for (const copy of open) {
      if (channel === 'sms' && copy.provider !== name)
        breach(`${id} is sent by ${name}, and ${copy.provider} may have it`)
      else if (canBeAsked && !copy.wasAskedFor) breach(`${id} is sent again by ${name}, which nobody asked`)
      copy.wasAskedFor = false
    }
  }

  /** A refusal before the message was taken; null: it is taken. */
  function refuse(how: Mode, truth: Truth): Outcome | null {
    const dice = random()
    const waits = { reply: '', retryAfterMs: dice < 0.8 ? 5 * SECOND : 3600 * SECOND } as const
    if (how === 'dead') return { ...later(how), untouched: true }
    if (how === 'crowded' && serving.size > 2)
      return { ...later(how), untouched: true, overload: 'connections' }
    if (how === 'throttled' && dice < 0.5)
      return { ...later(how), overload: 'requests', retryAfterMs: between(0, 5) * SECOND }
    if (how === 'busy' && dice < 0.3) return later(how)
    if (how === 'locked out') return { is: 'retry', whose: 'ours', code: 'password', reply: '' }
    if (how === 'used up') world.noteUsedUp()
    if (how === 'limited' || how === 'closed country') truth.deniedBy.add(name)
    if (how === 'used up') return { is: 'limit', scope: 'account', code: 'day', ...waits }
    if (how === 'limited') return { is: 'limit', scope: 'recipient', code: 'hour', ...waits }
    if (how === 'closed country') return { is: 'rejected', scope: 'country', code: 'country', reply: '' }
    if (random() >= 0.03) return null
    truth.rejected = true
    return { is: 'rejected', scope: 'recipient', code: '550', reply: '' }
  }

  /** One message: it arrives at the dot or not, and the answer comes later or never. */
  function sendOnce(outgoing: Outgoing, signal: AbortSignal, onHandedOver?: () => void) {
    world.checkSend(outgoing)
    checkCopy(outgoing.id)
    const isCallerAlive = world.watchCaller()
    const truth = truthOf(outgoing.id)
    const copy: Copy = {
      provider: name,
      arrived: false,
      pending: true,
      mayHaveCome: true,
      wasAskedFor: false,
    }
    truth.copies.push(copy)
    serving.add(outgoing)
    const how = mode
    const tookMs = between(0.5, 1.5) * world.mailMs * (how === 'slow' ? 20 : 1)
    let dotted = false
    return new Promise<Outcome>(resolve => {
      const end = (outcome: Outcome): void => {
        serving.delete(outgoing)
        if (!isCallerAlive()) return
        if (outcome.is !== 'ambiguous' && outcome.is !== 'sent') copy.mayHaveCome = false
        resolve(outcome)
      }
      signal.addEventListener('abort', () =>
        end(
          dotted ? { is: 'ambiguous', code: 'aborted', reply: '' } : { ...later('aborted'), untouched: true },
        ),
      )
      const refusal = refuse(how, truth)
      if (refusal !== null) {
        copy.pending = false
        return time.after(between(1, 20), () => end(refusal))
      }
      time.after(tookMs / 2, () => {
        dotted = true
        copy.pending = false
        copy.arrived = how !== 'lost' || random() < 0.5
        if (isCallerAlive()) onHandedOver?.()
        if (how === 'silent')
          time.after(REPLY_LIMIT_MS, () => end({ is: 'ambiguous', code: 'reply-limit', reply: '' }))
        else
          time.after(tookMs / 2, () =>
            end(
              how === 'lost'
                ? { is: 'ambiguous', code: 'connection-lost', reply: '' }
                : { is: 'sent', reply: '' },
            ),
          )
      })
    })
  }

  function lookUp(id: string): LookUp {
    const here = truthOf(id).copies.filter(({ provider }) => provider === name)
    if (mode === 'dead') return { is: 'unreachable', reply: '' }
    for (const copy of here) copy.wasAskedFor = true
    if (random() < 0.3 || here.some(({ pending }) => pending)) return { is: 'not-known', reply: '' }
    if (here.some(({ arrived }) => arrived)) return { is: 'accepted', reply: '' }
    for (const copy of here) copy.mayHaveCome = false
    return { is: 'absent', reply: '' }
  }

  const provider: Provider = {
    name,
    channel,
    concurrency: world.most,
    fits: ({ to }) => (fits(to) ? null : quote('no template for it')),
    send: sendOnce,
    verify: async () => ({ ok: true, detail: '' }),
    close: async () => {},
    ...(canBeAsked && {
      lookUp: ({ id }: Outgoing) =>
        new Promise<LookUp>(resolve => {
          const isCallerAlive = world.watchCaller()
          time.after(between(1, 50), () => isCallerAlive() && resolve(lookUp(id)))
        }),
    }),
  }
  const modes = channel === 'sms' ? CARRIER_MODES : MODES
  return {
    provider,
    change(to = modes[Math.floor(random() * modes.length)] ?? 'well') {
      mode = to
    },
  }
}
