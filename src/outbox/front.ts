import { type CallStore, type Gives, ValuesRefused } from './operations.ts'
import {
  type Acceptance,
  type Accepted,
  BOUNCED,
  type Outbox,
  type Settled,
  type Settlement,
  type StoreLog,
  type StoreOptions,
  StoreUnavailable,
} from './outbox.ts'

/** What both stores answer by calls of their operations alone. */
export type Front = Pick<
  Outbox,
  'accept' | 'claim' | 'settle' | 'writeReceipt' | 'memos' | 'events' | 'queries' | 'actions'
>

/** Makes the port of a store out of its operations. What a store refuses is made good here, and said in the log. */
export function createFront(
  call: CallStore,
  { clock, log = () => {}, keepsEvents = false }: Pick<StoreOptions, 'clock' | 'log' | 'keepsEvents'>,
): Front {
  return {
    accept: given => acceptEach(given, messages => call('accept', { now: clock.now(), messages }), log),
    claim: (channel, limit, leaseMs) => call('claim', { now: clock.now(), channel, limit, leaseMs }),
    settle: (id, { token }, given) =>
      settleWithoutRefused(
        id,
        given,
        settlement => call('settle', { now: clock.now(), id, token, settlement }),
        log,
      ),
    writeReceipt: report => writeReceiptIfTaken(() => call('writeReceipt', report), log),
    memos: { readMemos: names => call('readMemos', { names }) },
    ...(keepsEvents && {
      events: {
        addEvent: event => call('addEvent', event),
        readEvents: limit => call('readEvents', { limit }),
        removeEvents: seqs => call('removeEvents', { seqs }),
        dropEvents: (most, before) => call('dropEvents', { most, before }),
      },
    }),
    queries: {
      async readSummary(since, stepMs) {
        const { counts, ...rest } = await call('readSummary', { since, stepMs })
        const isMessage = ({ state }: { readonly state: string }) => state !== BOUNCED
        const bounced = counts.reduce((sum, each) => (isMessage(each) ? sum : sum + each.count), 0)
        return { ...rest, counts: counts.filter(isMessage), bounced }
      },
      listMessages: filter => call('listMessages', { filter }),
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
    },
  }
}

/** Accepts the messages of a callback; when the store refuses values of one, that one alone is not stored. */
async function acceptEach(
  messages: readonly Acceptance[],
  accept: (messages: readonly Acceptance[]) => Promise<readonly Accepted[]>,
  log: StoreLog,
): Promise<readonly Accepted[]> {
  try {
    return await accept(messages)
  } catch (error) {
    if (!(error instanceof ValuesRefused)) throw error
    if (messages.length > 1) {
      const accepted: Accepted[] = []
      for (const each of messages) accepted.push(...(await acceptEach([each], accept, log)))
      return accepted
    }
    const id = messages[0]?.message.id ?? ''
    log({ doing: 'accept', message: `the message ${id} was refused with all its values: ${error.message}` })
    return [{ is: 'refused' }]
  }
}

/**
 * Writes the end of an attempt. When the store refuses its values, it is written without the lines for the timeline, and then
 * without the provider's id too. If that is refused as well, nothing is written, and the message waits for the end of its lease.
 */
export async function settleWithoutRefused(
  id: string,
  settlement: Settlement,
  settle: (settlement: Settlement) => Promise<Settled>,
  log: StoreLog,
): Promise<Settled> {
  const bare: Settlement = { ...settlement, records: undefined }
  const barest: Settlement = bare.to === 'final' ? { ...bare, providerId: undefined } : bare
  const tries = [
    { dropped: 'nothing', settlement },
    { dropped: 'its lines for the timeline', settlement: bare },
    { dropped: "its lines for the timeline and the provider's id", settlement: barest },
  ]
  let refusal = ''
  for (const each of tries) {
    try {
      const settled = await settle(each.settlement)
      if (refusal !== '')
        log({ doing: 'settle', message: `the message ${id} was settled without ${each.dropped}: ${refusal}` })
      return settled
    } catch (error) {
      if (!(error instanceof ValuesRefused)) throw error
      refusal = error.message
    }
  }
  log({ doing: 'settle', message: `the end of the message ${id} was refused altogether: ${refusal}` })
  return { state: 'lost' }
}

/** Writes a delivery report; one that the store cannot hold counts as a report on no message of ours. */
async function writeReceiptIfTaken(
  write: () => Promise<Gives<'writeReceipt'>>,
  log: StoreLog,
): Promise<Gives<'writeReceipt'>> {
  try {
    return await write()
  } catch (error) {
    if (!(error instanceof ValuesRefused)) throw error
    log({ doing: 'write receipt', message: `a delivery report was dropped whole: ${error.message}` })
    return { is: 'unknown' }
  }
}
