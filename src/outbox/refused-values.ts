import type { CallResult } from './calls.ts'
import type { Acceptance, Accepted, Settled, Settlement, StoreLog } from './outbox.ts'

/**
 * The store refuses values of this very call, such as a text that it cannot hold: trying again would not help. Nothing
 * of the call was written. The message names the kind of fault, never a value.
 */
export class ValuesRefused extends Error {
  override readonly name = 'ValuesRefused'
}

/** Accepts the messages of a callback; when the store refuses values of one, that one alone is not stored. */
export async function acceptEach(
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
export async function writeReceiptIfTaken(
  write: () => Promise<CallResult<'writeReceipt'>>,
  log: StoreLog,
): Promise<CallResult<'writeReceipt'>> {
  try {
    return await write()
  } catch (error) {
    if (!(error instanceof ValuesRefused)) throw error
    log({ doing: 'write receipt', message: `a delivery report was dropped whole: ${error.message}` })
    return 'unknown'
  }
}
