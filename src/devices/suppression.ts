import { parseJson } from '../runtime/json-object.ts'
import type { Occurrence } from './occurrence.ts'

/** The memo about one recipient, device and rule: in the store, so that it outlives a restart. */
export interface AlertMemory {
  /** The time at which an alarm was last sent, ms since the epoch. */
  readonly sentAt: number
  /** The time at which the newest alarm that was sent happened; null when it did not say. */
  readonly alarmAt: number | null
  /** The time at which the newest recovery that was sent happened; null when there is none, or it did not say. */
  readonly recoveredAt: number | null
  /** The recipient got an alarm, and no recovery since. */
  readonly open: boolean
  /** Id of the alarm's message. */
  readonly messageId: string
}

export type SuppressionReason =
  /** The last alarm was sent less than the row's minutes ago. */
  | 'quiet'
  /** A recovery whose alarm this recipient did not get. */
  | 'not-alarmed'
  /** It came late: something that happened after it was sent already. */
  | 'outdated'

/** Clocks of replicas differ a little; one that was set back a lot must not silence alarms until it has caught up. */
const CLOCK_SKEW_MS = 60_000
const DAY = 24 * 60 * 60_000
/** How long an open alert waits for its recovery. */
const OPEN_DAYS = 90

/**
 * Says whether an occurrence is sent to a recipient.
 * @param everyMs at most one alarm in so long; 0: each.
 * @param now ms since the epoch.
 */
export function decideSuppression(
  memory: AlertMemory | null,
  occurrence: Occurrence,
  everyMs: number,
  now: number,
): SuppressionReason | 'send' {
  const { is, at } = occurrence
  if (memory === null) return is === 'alarm' ? 'send' : 'not-alarmed'
  if (is === 'alarm') {
    if (at !== null && memory.recoveredAt !== null && at < memory.recoveredAt) return 'outdated'
    const since = now - memory.sentAt
    return since >= -CLOCK_SKEW_MS && since < everyMs ? 'quiet' : 'send'
  }
  if (!memory.open) return 'not-alarmed'
  return at !== null && memory.alarmAt !== null && at < memory.alarmAt ? 'outdated' : 'send'
}

/** The memo once the occurrence has been sent, and until when it is kept, ms since the epoch. */
export function updateMemory(
  memory: AlertMemory | null,
  { is, at, canRecover }: Occurrence,
  everyMs: number,
  now: number,
  messageId: string,
): { readonly memory: AlertMemory; readonly expiresAt: number } {
  const soon = now + Math.max(everyMs, DAY)
  if (is === 'alarm' || memory === null) {
    return {
      memory: {
        sentAt: now,
        alarmAt: latest(memory?.alarmAt ?? null, at),
        recoveredAt: memory?.recoveredAt ?? null,
        open: canRecover,
        messageId,
      },
      expiresAt: canRecover ? now + OPEN_DAYS * DAY : soon,
    }
  }
  return { memory: { ...memory, recoveredAt: latest(memory.recoveredAt, at), open: false }, expiresAt: soon }
}

/** A memo as the store has it: sentAt, alarmAt, recoveredAt, open as 1 or 0, messageId. */
type Memo = readonly [number, number | null, number | null, number, string]

export function serializeMemory(memory: AlertMemory): string {
  const { sentAt, alarmAt, recoveredAt, open, messageId } = memory
  const memo: Memo = [sentAt, alarmAt, recoveredAt, open ? 1 : 0, messageId]
  return JSON.stringify(memo)
}

/** Reads a memo. @returns null for one that this version cannot read, as if there were none. */
export function parseMemory(text = ''): AlertMemory | null {
  const memo = parseJson(text) as Memo | undefined
  if (!Array.isArray(memo)) return null
  const [sentAt, alarmAt, recoveredAt, open, messageId]: Memo = memo
  return typeof sentAt === 'number' && typeof messageId === 'string'
    ? { sentAt, alarmAt, recoveredAt, open: open === 1, messageId }
    : null
}

function latest(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.max(a, b)
}
