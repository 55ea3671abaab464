import { quote } from '../../src/language/sentence.ts'
import { type Outbox, StoreUnavailable } from '../../src/outbox/outbox.ts'
import { claimedOf, createModel } from '../outbox/model.ts'

/**
 * The model of a store behind the port that the delivery asks.
 * @param now ms since the epoch, by the clock of the process.
 * @param run runs a call after the time that a store takes; never, when the process was killed.
 * @param fails says whether the store fails every call now.
 * @param onBegin called when an attempt of a message begins, before its first carrier is asked.
 */
export function createModelOutbox(
  now: () => number,
  run: <T>(work: () => T) => Promise<T>,
  beginsAtOnce = true,
  fails = () => false,
  onBegin: (id: string) => void = () => {},
) {
  const model = createModel(false, Number.POSITIVE_INFINITY)
  let tokens = 0
  const begun = new Set<string>()
  const call = <T>(work: () => unknown): Promise<T> =>
    run(() => {
      if (fails()) throw new StoreUnavailable(quote('the store cannot commit now'))
      return work() as T
    })
  const outbox: Partial<Outbox> = {
    accept: given => call(() => model.accept(given, now())),
    claim: (channel, limit, leaseMs, ...which) =>
      call(() => {
        const { claimed, settled, ...next } = model.claim(channel, limit, now() + leaseMs, now(), ...which)
        for (const { lease } of claimed) if (lease !== null) lease.token = `claim ${(tokens += 1)}`
        const told = settled.map(({ state, given: { message } }) => ({ ...message, state }))
        return { messages: claimed.map(claimedOf), settled: told, ...next }
      }),
    beginAttempt(id, { token }, by = '') {
      if (!begun.has(token)) onBegin(id)
      begun.add(token)
      const begin = (): void => {
        const m = model.find(id)
        if (m?.lease?.token === token) model.begin(m, by)
      }
      return beginsAtOnce ? begin() : call(begin)
    },
    settle: (id, { token }, end) =>
      call(() => {
        const m = model.find(id)
        return m === undefined ? { state: 'lost' } : model.settle(m, token, end, now())
      }),
    actions: {
      retryMessage: id =>
        call(() => {
          const m = model.find(id)
          return m !== undefined && model.act(m, false, now())
        }),
      cancelMessage: async () => false,
      allowAgain: async () => false,
      forgetRecipient: async () => 0,
    },
  }
  return { model, outbox: outbox as Outbox }
}
