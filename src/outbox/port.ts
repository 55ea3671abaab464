import { type CallStore, type Gives, type OperationName, type Takes, ValuesRefused } from './operations.ts'
import type { Acceptance, Accepted, Outbox, StoreOptions } from './outbox.ts'
import { BOUNCED, StoreUnavailable } from './outbox.ts'

/**
 * Makes what both stores answer by calls of their operations alone, out of them. What a store refuses is made good here, and said in
 * the log.
 */
export function createPort(
  call: CallStore,
  { clock, log = () => {}, keepsEvents = false }: Pick<StoreOptions, 'clock' | 'log' | 'keepsEvents'>,
): Omit<Outbox, 'close'> {
  /** What the store cannot hold is not tried again. @param otherwise is told why it was refused, and gives what the caller gets. */
  async function unlessRefused<N extends OperationName>(
    name: N,
    takes: Takes<N>,
    otherwise: (why: string) => Gives<N> | Promise<Gives<N>>,
  ): Promise<Gives<N>> {
    try {
      return await call(name, takes)
    } catch (error) {
      if (error instanceof ValuesRefused) return otherwise(error.message)
      throw error
    }
  }

  /** Accepts the messages of a callback; when the store refuses values of one, that one alone is not stored. */
  const accept = (messages: readonly Acceptance[]): Promise<readonly Accepted[]> =>
    unlessRefused('accept', { now: clock.now(), messages }, async why => {
      const accepted: Accepted[] = []
      if (messages.length > 1) for (const each of messages) accepted.push(...(await accept([each])))
      if (messages.length > 1) return accepted
      const id = messages[0]?.message.id ?? ''
      log({ doing: 'accept', message: `the message ${id} was refused with all its values: ${why}` })
      return [{ is: 'refused' }]
    })

  return {
    accept,
    claim: (channel, limit, leaseMs, passOver = [], codesOnly = false, only = []) =>
      call('claim', { now: clock.now(), channel, limit, leaseMs, passOver, codesOnly, only }),
    // A message whose attempt began when it was accepted has its mark already.
    beginAttempt: (id, { token, begins: hasBegun }, provider) =>
      hasBegun === true && provider === undefined ? undefined : call('beginAttempt', { id, token, provider }),
    // The message waits for the end of its lease.
    settle: (id, { token }, settlement) =>
      unlessRefused('settle', { now: clock.now(), id, token, settlement }, why => {
        log({ doing: 'settle', message: `the end of the message ${id} was refused: ${why}` })
        return { state: 'lost' }
      }),
    // It counts as a report on no message of ours.
    writeReceipt: report =>
      unlessRefused('writeReceipt', report, why => {
        log({ doing: 'write receipt', message: `a delivery report was dropped whole: ${why}` })
        return { is: 'unknown' }
      }),
    memos: { readMemos: names => call('readMemos', { names }), writeMemo: memo => call('writeMemo', memo) },
    ...(keepsEvents && {
      events: {
        addEvent: event => call('addEvent', event),
        readEvents: limit => call('readEvents', { limit }),
        removeEvents: seqs => call('removeEvents', { seqs }),
        dropEvents: (most, before) => call('dropEvents', { most, before }),
      },
    }),
    queries: {
      async readSummary(since) {
        const { counts, ...summary } = await call('readSummary', { now: clock.now(), since })
        const isMessage = ({ state }: { readonly state: string }) => state !== BOUNCED
        const bounced = counts.reduce((sum, each) => (isMessage(each) ? sum : sum + each.count), 0)
        return { ...summary, counts: counts.filter(isMessage), bounced }
      },
      readWaiting: (channel, known) => call('readWaiting', { channel, known }),
      listMessages: filter => call('listMessages', { filter }),
      readEnded: (dayBefore, today) => call('readEnded', { dayBefore, today }),
      findMessage: id => call('findMessage', { id }),
      probeCommit: () =>
        call('probeCommit', { now: clock.now() }).catch((error: unknown) => {
          if (error instanceof StoreUnavailable) return false
          throw error
        }),
    },
    actions: {
      retryMessage: id => call('retryMessage', { now: clock.now(), id }),
      cancelMessage: id => call('cancelMessage', { now: clock.now(), id }),
      allowAgain: id => call('allowAgain', { now: clock.now(), id }),
      forgetRecipient: recipientHash => call('forgetRecipient', { recipientHash }),
    },
  }
}
