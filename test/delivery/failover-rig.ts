import { createCarrier } from '../../src/delivery/carrier.ts'
import { createDelivery } from '../../src/delivery/delivery.ts'
import { createLimiter } from '../../src/delivery/limiter.ts'
import type { Delivery, Verdict } from '../../src/delivery/port.ts'
import { createVerdicts } from '../../src/delivery/verdicts.ts'
import type { Emit, EventOf } from '../../src/events/events.ts'
import type { NewMessage, OutgoingSms } from '../../src/messages/message.ts'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { createSqliteOutbox } from '../../src/outbox/sqlite/outbox.ts'
import type { LookUp, Outcome, Provider } from '../../src/providers/provider.ts'
import { type Sample, sample, type TestClock } from '../outbox/samples.ts'
import { outgoingSms } from '../providers/sms.ts'
import { serveHere } from '../rigs/serve-here.ts'

/** A carrier that does what a test says. */
export interface FakeCarrier {
  /** Ids of the messages that it was asked to send, in order. */
  readonly asked: string[]
  /** Ids of those that it was asked about. */
  readonly lookedUp: string[]
  send: (message: { readonly id: string }) => Outcome | Promise<Outcome>
  lookUp: ((message: { readonly id: string }) => LookUp) | undefined
  fits: (() => string | null) | undefined
}

export function fakeCarrier(outcome: Outcome): FakeCarrier {
  return { asked: [], lookedUp: [], send: () => outcome, lookUp: undefined, fits: undefined }
}

function providerOf(name: string, carrier: FakeCarrier): Provider {
  return {
    name,
    channel: 'sms',
    concurrency: 10,
    fits: () => carrier.fits?.() ?? null,
    async send(message) {
      carrier.asked.push(message.id)
      return carrier.send(message)
    },
    ...(carrier.lookUp !== undefined && {
      async lookUp(message) {
        carrier.lookedUp.push(message.id)
        return carrier.lookUp?.(message) ?? { is: 'not-known', reply: '' }
      },
    }),
    verify: async () => ({ ok: true, detail: '' }),
    close: async () => {},
  }
}

export async function openStore(path: string, clock: TestClock): Promise<Outbox> {
  const storeKeys = createStoreKeys('a secret of the tests, long enough')
  return createSqliteOutbox({
    path,
    clock,
    storeKeys,
    maxBacklog: 100_000,
    retentionDays: 30,
    startThread: serveHere,
  })
}

let numbers = 0

function newNumber(): string {
  numbers += 1
  return `+86138${String(numbers).padStart(8, '0')}`
}

function outgoingOf({ id, recipient: to, kind, expiresAt }: NewMessage): OutgoingSms {
  return outgoingSms({ id, to, kind, expiresAt })
}

/** A delivery of SMS by several carriers, on a store. */
export function openDelivery(
  { outbox, clock, random = () => 0.5 }: { outbox: Outbox; clock: TestClock; random?: () => number },
  carriers: Readonly<Record<string, FakeCarrier>>,
  /** `byDigit`: a number goes by the carrier that its last digit counts, from 1. */
  options: { readonly byDigit?: boolean } = {},
) {
  const verdicts = createVerdicts()
  const attempts: EventOf<'attempt'>[] = []
  const breakers: string[] = []
  const emit: Emit = event => {
    if (event.type === 'attempt') attempts.push(event)
    if (event.type === 'breaker') breakers.push(`${event.provider} ${event.state}`)
    if (event.type === 'fault') throw event.error
  }
  const all = Object.entries(carriers).map(([name, carrier]) =>
    createCarrier(providerOf(name, carrier), {
      clock,
      random,
      limiter: createLimiter({ most: 10, start: 10 }),
    }),
  )
  let tokens = 0
  const process = `${Math.random()}`
  const delivery: Delivery = createDelivery({
    outbox,
    clock,
    random,
    verdicts,
    emit,
    channels: [
      {
        channel: 'sms',
        carriers: all,
        route: ({ recipient }) =>
          options.byDigit === true ? all.slice(Number(recipient.at(-1)) - 1).slice(0, 1) : all,
        render: outgoingOf,
      },
    ],
    leaseMs: 520_000,
    attemptWithinMs: 400_000,
    pollMs: 5,
    leaseToken: () => `${process}.${(tokens += 1)}`,
  })
  /** Takes the road of a callback. @returns the message's id, and its verdict when there is one. */
  async function accept(given: Sample = {}) {
    const plain = sample(clock, { channel: 'sms', recipient: newNumber(), ...given })
    const lease = delivery.reservePlace('sms', plain.message.purpose)
    const acceptance = lease === undefined ? plain : { ...plain, lease }
    await outbox.accept([acceptance])
    const { message, groupKey } = acceptance
    const verdict = new Promise<Verdict>(resolve => verdicts.wait(message.id, resolve))
    const outgoing = outgoingOf(message)
    if (lease === undefined)
      delivery.wake('sms', groupKey === undefined ? undefined : { ...message, groupKey, arrivedAt: 0 })
    else delivery.submit({ message, lease, outgoing, ...(groupKey !== undefined && { groupKey }) })
    return { id: message.id, verdict }
  }
  return { delivery, accept, attempts, breakers }
}
