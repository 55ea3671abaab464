import type { Occurrence } from './occurrence.ts'

/** What is remembered of one recipient, device and rule, in the store, so that it outlives a restart. */
export interface AlertMemory {
  /** When an alarm was last told, ms since the epoch. */
  readonly sentAt: number
  /** The newest alarm that was told, by the time it happened; null when it did not say. */
  readonly alarmAt: number | null
  /** The newest recovery that was told, by the time it happened. */
  readonly recoveredAt: number | null
  /** Alarmed, and not told yet that it is over. */
  readonly open: boolean
  /** The message that told the alarm. */
  readonly messageId: string
}

/** Why somebody is not told. */
export type SuppressionReason =
  /** Told less than the row's minutes ago. */
  | 'quiet'
  /** Nobody told this recipient of an alarm, so there is nothing to be over. */
  | 'not-alarmed'
  /** It was overtaken: what came later has been told already. */
  | 'outdated'

/** Clocks of replicas differ a little; one that was set back a lot must not silence alarms until it has caught up. */
const CLOCK_SKEW_MS = 60_000
const DAY = 24 * 60 * 60_000
/** How long it is remembered who was alarmed, waiting for the recovery. */
const OPEN_DAYS = 90

/**
 * Whether an occurrence is told to a recipient.
 * @param everyMs at most one alarm in so long; 0: each.
 * @param now ms since the epoch.
 */
export function decideSuppression(
  memory: AlertMemory | null,
  occurrence: Occurrence,
  everyMs: number,
  now: number,
): SuppressionReason | 'tell' {
  const { is, at } = occurrence
  if (memory === null) return is === 'alarm' ? 'tell' : 'not-alarmed'
  if (is === 'alarm') {
    if (at !== null && memory.recoveredAt !== null && at < memory.recoveredAt) return 'outdated'
    const since = now - memory.sentAt
    return since >= -CLOCK_SKEW_MS && since < everyMs ? 'quiet' : 'tell'
  }
  if (!memory.open) return 'not-alarmed'
  return at !== null && memory.alarmAt !== null && at < memory.alarmAt ? 'outdated' : 'tell'
}

/** What is remembered once it has been told, and until when, ms since the epoch. */
export function updateMemory(
  memory: AlertMemory | null,
  { is, at, canRecover }: Occurrence,
  everyMs: number,
  now: number,
  messageId: string,
): { readonly memory: AlertMemory; readonly expiresAt: number } {
  const shortly = now + Math.max(everyMs, DAY)
  if (is === 'alarm' || memory === null) {
    return {
      memory: {
        sentAt: now,
        alarmAt: latest(memory?.alarmAt ?? null, at),
        recoveredAt: memory?.recoveredAt ?? null,
        open: canRecover,
        messageId,
      },
      expiresAt: canRecover ? now + OPEN_DAYS * DAY : shortly,
    }
  }
  return {
    memory: { ...memory, recoveredAt: latest(memory.recoveredAt, at), open: false },
    expiresAt: shortly,
  }
}

export function serializeMemory(memory: AlertMemory): string {
  const { sentAt, alarmAt, recoveredAt, open, messageId } = memory
  return JSON.stringify([sentAt, alarmAt, recoveredAt, open ? 1 : 0, messageId])
}

/** Null for what this version cannot read: then it is as if nothing were remembered. */
export function parseMemory(text: string | undefined): AlertMemory | null {
  if (text === undefined) return null
  try {
    const [sentAt, alarmAt, recoveredAt, open, messageId] = JSON.parse(text) as [
      number,
      number | null,
      number | null,
      number,
      string,
    ]
    return typeof sentAt === 'number' && typeof messageId === 'string'
      ? { sentAt, alarmAt, recoveredAt, open: open === 1, messageId }
      : null
  } catch {
    return null
  }
}

function latest(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.max(a, b)
}
