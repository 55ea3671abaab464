import { join } from 'node:path'
import type { Test } from 'tap'
import { createCarrier } from '../../src/delivery/carrier.ts'
import { createDelivery } from '../../src/delivery/delivery.ts'
import type { Delivery, Verdict, Verdicts } from '../../src/delivery/port.ts'
import { createVerdicts } from '../../src/delivery/verdicts.ts'
import { createEmitter } from '../../src/events/events.ts'
import { quote } from '../../src/language/sentence.ts'
import type { NewMessage, Outgoing } from '../../src/messages/message.ts'
import type { Acceptance, Accepted, MessageView, Outbox } from '../../src/outbox/outbox.ts'
import { createSqliteOutbox } from '../../src/outbox/sqlite/outbox.ts'
import type { Outcome, Provider } from '../../src/providers/provider.ts'
import { type Sample, STORE, sample, type TestClock, testClock } from '../outbox/samples.ts'
import { serveHere } from '../rigs/serve-here.ts'
import { until as waitUntil } from '../rigs/until.ts'

export const SENT: Outcome = { is: 'sent', reply: quote('250 ok') }
export const AMBIGUOUS: Outcome = { is: 'ambiguous', code: 'reply-limit', reply: quote('no reply') }
export const REFUSED: Outcome = {
  is: 'retry',
  whose: 'later',
  code: 'ECONNREFUSED',
  reply: quote('connect ECONNREFUSED'),
  untouched: true,
}

export const ABORTED: Outcome = {
  is: 'retry',
  whose: 'later',
  code: 'aborted',
  reply: 'stopped by us',
  untouched: true,
}

/** One attempt that the provider was asked for. */
export interface Asked {
  readonly id: string
  readonly code: string
  readonly signal: AbortSignal
  answer(outcome: Outcome): void
}

/** A provider that does what a test says, attempt by attempt. */
export interface FakeProvider extends Provider {
  readonly asked: Asked[]
  /** Answers every attempt at once; undefined: each waits for its test. */
  respond: ((asked: Asked) => Outcome | undefined) | undefined
  /** What an attempt becomes that is aborted; undefined: it does not notice. */
  aborted: (asked: Asked) => Outcome | undefined
}

function fakeProvider(concurrency: number): FakeProvider {
  const asked: Asked[] = []
  const provider: FakeProvider = {
    name: 'fake',
    channel: 'email',
    concurrency,
    asked,
    respond: () => SENT,
    aborted: () => ABORTED,
    send: (outgoing, signal) =>
      new Promise(resolve => {
        const code = outgoing.channel === 'email' ? outgoing.raw.toString() : outgoing.text()
        const attempt = { id: outgoing.id, code, signal, answer: resolve }
        asked.push(attempt)
        signal.addEventListener('abort', () => {
          const outcome = provider.aborted(attempt)
          if (outcome !== undefined) resolve(outcome)
        })
        const outcome = provider.respond?.(attempt)
        if (outcome !== undefined) resolve(outcome)
      }),
    verify: async () => ({ ok: true, detail: '' }),
    close: async () => {},
  }
  return provider
}

export interface Options {
  readonly concurrency?: number
  readonly attemptWithinMs?: number
  readonly leaseMs?: number
  /** Stands between the loop and the store. */
  readonly between?: (outbox: Outbox) => Partial<Outbox>
}

/** A delivery loop over a real store, with a clock and a provider in the test's hand. */
export interface Rig {
  readonly clock: TestClock
  readonly outbox: Outbox
  readonly delivery: Delivery
  readonly provider: FakeProvider
  readonly verdicts: Verdicts
  /** Events, as `final sent`, `breaker open`, `store-failed claim`, `attempt retry`, `fault`. */
  readonly events: string[]
  /** Another loop on the same store and provider's stand-in, as another replica would be. */
  peer(options?: Options): Omit<Rig, 'peer'>
  /** Stores a message without handing it over. */
  store(given?: Sample): Promise<Acceptance>
  /** Takes the road of a callback: reserves, accepts, hands over. */
  accept(given?: Sample): Promise<{ readonly acceptance: Acceptance; readonly accepted: Accepted }>
  view(id: string): Promise<MessageView>
}

export async function openRig(t: Test, options: Options = {}): Promise<Rig> {
  const clock = testClock()
  const outbox = await createSqliteOutbox({
    ...STORE,
    path: join(t.testdir({}), 'outbox.db'),
    clock,
    startThread: serveHere,
  })
  const ends: (() => Promise<void>)[] = []
  t.teardown(async () => {
    for (const end of ends) await end()
    await outbox.close()
  })
  let tokens = 0
  const open = (given: Options): Omit<Rig, 'peer'> => {
    const { concurrency = 2, attemptWithinMs = 400_000 } = given
    const random = () => 0.5
    const provider = fakeProvider(concurrency)
    const verdicts = createVerdicts()
    const events: string[] = []
    const carriers = [createCarrier(provider, { clock, random })]
    const delivery = createDelivery({
      outbox: { ...outbox, ...given.between?.(outbox) },
      clock,
      random,
      verdicts,
      emit: createEmitter([
        {
          attempt: ({ outcome }) => void events.push(`attempt ${outcome.is}`),
          final: ({ state }) => void events.push(`final ${state}`),
          breaker: ({ state }) => void events.push(`breaker ${state}`),
          'store-failed': ({ doing }) => void events.push(`store-failed ${doing}`),
          fault: () => void events.push('fault'),
        },
      ]),
      channels: [{ channel: provider.channel, carriers, route: () => carriers }],
      render: rendered,
      leaseMs: given.leaseMs ?? 520_000,
      attemptWithinMs,
      pollMs: 10,
      leaseToken: () => `test.${(tokens += 1)}`,
    })
    ends.push(() => delivery.stop(0, 200))
    const store = async (sampled?: Sample) => {
      const acceptance = sample(clock, { recipient: newRecipient(), ...sampled })
      await outbox.accept([acceptance])
      return acceptance
    }
    return {
      clock,
      outbox,
      delivery,
      provider,
      verdicts,
      events,
      store,
      async accept(sampled) {
        const plain = sample(clock, { recipient: newRecipient(), ...sampled })
        const lease = delivery.reservePlace('email', plain.message.purpose, plain.message.destination)
        const acceptance = lease === undefined ? plain : { ...plain, lease }
        const [accepted] = await outbox.accept([acceptance])
        if (accepted === undefined) throw new Error('nothing was answered')
        const { message, groupKey } = acceptance
        if (accepted.is === 'stored')
          delivery.submit({ message, lease, outgoing: rendered(message), groupKey })
        else if (lease !== undefined) delivery.releasePlace('email')
        return { acceptance, accepted }
      },
      async view(id) {
        const found = await outbox.queries.findMessage(id)
        if (found === null) throw new Error('there is no such message')
        return found
      },
    }
  }
  return { ...open(options), peer: (given = options) => open(given) }
}

/** The same, started, whose only connection is busy with a message until the test answers that. */
export async function openBusy(t: Test, options: Options = {}, given?: Sample) {
  const rig = await openRig(t, { concurrency: 1, ...options })
  rig.provider.respond = undefined
  rig.delivery.start()
  const { acceptance } = await rig.accept(given)
  await until('the only connection is busy', () => rig.provider.asked.length === 1)
  return { ...rig, first: acceptance }
}

let recipients = 0

function newRecipient(): string {
  recipients += 1
  return `r${recipients}@d${recipients}.test`
}

export function rendered(message: NewMessage): Outgoing {
  const { id, recipient: to, content, expiresAt } = message
  return { channel: 'email', id, to, raw: Buffer.from(content.params['code'] ?? ''), content, expiresAt }
}

/** Has four messages fail, whose lives end soon: one more, and the provider rests. */
export async function failFour({ provider, accept, events }: Rig): Promise<void> {
  provider.respond = () => REFUSED
  for (let n = 0; n < 4; n += 1) await accept({ lifeMs: 3000 })
  await until('four failed', () => events.filter(each => each === 'attempt retry').length === 4)
  provider.respond = undefined
}

export function until(what: string, so: () => boolean | Promise<boolean>): Promise<void> {
  return waitUntil(so, what)
}

export function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}

/** The verdict on a message, when it comes. */
export function verdictOn(verdicts: Verdicts, id: string): Promise<Verdict> {
  return new Promise(resolve => verdicts.wait(id, resolve))
}
