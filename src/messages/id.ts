import { randomUUID } from 'node:crypto'

/**
 * A new message's id: 32 lower-case hex digits, the moment first (12 digits of ms since the epoch), then 74 random bits.
 * Ids sort by arrival, so that a store's index of them grows at its end instead of everywhere.
 * @param now ms since the epoch.
 */
export function newMessageId(now: number): string {
  return now.toString(16).padStart(12, '0') + randomUUID().replaceAll('-', '').slice(12)
}
