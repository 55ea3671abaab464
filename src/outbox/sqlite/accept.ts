import type { DatabaseSync } from 'node:sqlite'
import type { CallArguments } from '../calls.ts'
import type { Acceptance, Accepted } from '../outbox.ts'
import { afterNewerCode, answerForDuplicate, checkBacklog, judgeDuplicate, stateAtExpiry } from '../rules.ts'
import type { UnreportedEnds } from '../unreported-ends.ts'
import type { Counts } from './counts.ts'
import type { Memos } from './memos.ts'
import type { MessageWriter } from './message-writer.ts'
import type { Quotas } from './quotas.ts'
import { ROW_COLUMNS, rowOf } from './row.ts'

export interface AcceptDeps {
  readonly db: DatabaseSync
  readonly writer: MessageWriter
  readonly quotas: Quotas
  readonly counts: Counts
  readonly unreported: UnreportedEnds
  readonly memos: Memos
  readonly maxBacklog: number
}

/** Stores the messages of one callback, each judged by itself: duplicate, quota, backlog. */
export function createAccept(deps: AcceptDeps): (call: CallArguments<'accept'>) => readonly Accepted[] {
  const { db, writer, quotas, counts, unreported, memos, maxBacklog } = deps
  const findDuplicate = createFindDuplicate(db)
  const supersedeOlder = createSupersedeOlder(deps)

  function answerOfDuplicate(acceptance: Acceptance, now: number): Accepted | null {
    const duplicate = findDuplicate(acceptance, now)
    if (duplicate === null) return null
    const { row, verdict } = duplicate
    if (verdict === 'outlived') {
      const state = stateAtExpiry(row.ambiguous)
      writer.end(row, state, now)
      unreported.add({ id: row.id, state, channel: row.channel, kind: row.kind })
    }
    return answerForDuplicate(row, verdict)
  }

  function acceptOne(acceptance: Acceptance, now: number): Accepted {
    const answered = answerOfDuplicate(acceptance, now)
    if (answered !== null) return answered
    const charged = quotas.charge(acceptance.charges, now)
    if (charged.is === 'over-quota') return charged
    const superseded = supersedeOlder(acceptance.groupKey, now)
    writer.store(acceptance, charged.windows, now)
    if (acceptance.memo !== undefined) memos.write(acceptance.memo)
    const { nearing } = charged
    return { is: 'stored', superseded, ...(nearing.length === 0 ? {} : { nearing }) }
  }

  /** Refuses what does not fit, before anything is written, so that a full backlog costs no rollback of the calls beside it. */
  function refuseOverBacklog(messages: readonly Acceptance[], now: number): void {
    // As long as all would fit, duplicates need not be looked for.
    if (checkBacklog(counts.backlog(), messages.length, maxBacklog) === null) return
    const added = messages.filter(each => {
      const duplicate = findDuplicate(each, now)
      return duplicate === null || answerForDuplicate(duplicate.row, duplicate.verdict) === null
    })
    const full = checkBacklog(counts.backlog(), added.length, maxBacklog)
    if (full !== null) throw full
  }

  return ({ messages, now }) => {
    refuseOverBacklog(messages, now)
    return messages.map(each => acceptOne(each, now))
  }
}

/** Makes the function that finds the newest message with the same dedupe key, and judges the new message by it. */
function createFindDuplicate(db: DatabaseSync) {
  const newestDuplicate = db.prepare(NEWEST_DUPLICATE)
  return ({ recipientHash, dedupeKey, dedupeWindowMs }: Acceptance, now: number) => {
    const found = newestDuplicate.get(recipientHash, dedupeKey)
    if (found === undefined) return null
    const row = rowOf(found)
    return { row, verdict: judgeDuplicate(row, now, dedupeWindowMs) }
  }
}

/** Makes the function that ends the older codes of a group, or marks them. It returns the ids of those that end now. */
function createSupersedeOlder({ db, writer }: Pick<AcceptDeps, 'db' | 'writer'>) {
  const liveOfGroup = db.prepare(LIVE_OF_GROUP)
  return (groupKey: string | undefined, now: number): readonly string[] => {
    if (groupKey === undefined) return []
    const superseded: string[] = []
    for (const older of liveOfGroup.all(groupKey).map(rowOf)) {
      const effect = afterNewerCode(older.state)
      if (effect === 'outdated') writer.markOutdated(older)
      if (effect !== 'superseded') continue
      writer.end(older, 'superseded', now)
      superseded.push(older.id)
    }
    return superseded
  }
}

const NEWEST_DUPLICATE = `
  SELECT ${ROW_COLUMNS} FROM messages
  WHERE substr(recipient_hash, 1, 8) = substr(?1, 1, 8) AND substr(dedupe_key, 1, 8) = substr(?2, 1, 8)
    AND recipient_hash = ?1 AND dedupe_key = ?2 ORDER BY seq DESC LIMIT 1`
const LIVE_OF_GROUP = `
  SELECT ${ROW_COLUMNS} FROM messages
  WHERE substr(group_key, 1, 8) = substr(?1, 1, 8) AND group_key = ?1 AND final_at IS NULL`
