import type { Channel, Purpose } from '../messages/message.ts'
import type { AttemptRecord, ClaimedMessage, FinalAnswer, MessageView, State } from './outbox.ts'
import { providerOfCopy } from './rules.ts'

/** The columns of a message that people may see; both stores have them under these names. */
export const VIEW_COLUMNS = `id, channel, kind, purpose, masked_recipient, state, answer, attempts, ambiguous, arrived_at,
  expires_at, due_at, final_at, provider_id, receipt, timeline`

/** @param row with VIEW_COLUMNS; JSON as text (SQLite) or read already (Postgres). */
export function viewOfRow(row: Readonly<Record<string, unknown>>): MessageView {
  return {
    id: row['id'] as string,
    channel: row['channel'] as Channel,
    kind: row['kind'] as string,
    purpose: row['purpose'] as Purpose,
    maskedRecipient: row['masked_recipient'] as string,
    state: row['state'] as State,
    answer: row['answer'] as FinalAnswer,
    attempts: row['attempts'] as number,
    ambiguous: row['ambiguous'] as number,
    arrivedAt: row['arrived_at'] as number,
    expiresAt: row['expires_at'] as number,
    dueAt: row['due_at'] as number | null,
    finalAt: row['final_at'] as number | null,
    providerId: row['provider_id'] as string | null,
    receipt: readJson(row['receipt']) as MessageView['receipt'],
    timeline: (readJson(row['timeline']) as readonly AttemptRecord[] | null) ?? [],
  }
}

/** @param timeline JSON as text (SQLite) or read already (Postgres). */
export function toClaimedMessage(
  row: Pick<ClaimedMessage, 'id' | 'channel' | 'kind' | 'arrivedAt' | 'expiresAt' | 'ambiguous'> & {
    readonly groupKey: string | null
  },
  timeline: string | readonly AttemptRecord[] | null,
  rest: Pick<ClaimedMessage, 'recipient' | 'content' | 'purpose' | 'masked' | 'lease' | 'attempts'>,
): ClaimedMessage {
  const { id, channel, kind, arrivedAt, expiresAt, ambiguous, groupKey } = row
  const claimed = {
    id,
    channel,
    kind,
    arrivedAt,
    expiresAt,
    ...rest,
    ambiguous,
    groupKey: groupKey ?? undefined,
  }
  if (ambiguous === 0) return claimed
  return { ...claimed, ambiguousAt: providerOfCopy((readJson(timeline) as AttemptRecord[] | null) ?? []) }
}

function readJson(value: unknown): unknown {
  return typeof value === 'string' ? JSON.parse(value) : value
}
