import type { DdqMessage } from '../ddq/message.ts'
import type { AlertRecipient, AlertRow } from './alert-table.ts'
import type { Occurrence, Source } from './occurrence.ts'

/** One occurrence to one recipient. */
export interface Notification {
  readonly occurrence: Occurrence
  readonly recipient: AlertRecipient
  readonly row: AlertRow
  /** Names the memo of what the recipient got about this device and rule. */
  readonly memoName: string
}

/**
 * Decides which occurrences go to which recipients.
 * @param memoName HMAC that names the memo about a recipient, device and rule.
 */
export function createRouting(rows: readonly AlertRow[], memoName: (fields: readonly string[]) => string) {
  const bySource = new Map<Source, readonly AlertRow[]>()
  const products = new Map<Source, ReadonlySet<string> | 'any'>()
  for (const { source } of rows) {
    const own = rows.filter(row => row.source === source)
    const named = own.flatMap(({ product }) => product ?? [])
    bySource.set(source, own)
    products.set(source, named.length < own.length ? 'any' : new Set(named))
  }
  return {
    /** Says whether any row is about the message's topic and product. Most messages are about none, so this is cheap. */
    isRouted({ kind, product, payload }: DdqMessage): boolean {
      const source = SOURCE_OF[kind]
      const wanted = source === undefined ? undefined : products.get(source)
      if (wanted === undefined || wanted === 'any') return wanted === 'any'
      return wanted.has(product ?? String((payload as { readonly product_id?: unknown }).product_id))
    },
    /** The first row that names a recipient counts: two rows must not send the same thing twice. */
    notificationsFor(occurrence: Occurrence): readonly Notification[] {
      const { source, product, device, rule } = occurrence
      const found = new Map<string, Notification>()
      for (const row of bySource.get(source) ?? []) {
        if (row.product !== null && row.product !== product) continue
        for (const recipient of row.recipients) {
          const { channel, to } = recipient
          const key = `${channel} ${to}`
          if (found.has(key)) continue
          const fields = [channel, to, source, product, device, rule]
          found.set(key, { occurrence, recipient, row, memoName: memoName(fields) })
        }
      }
      return [...found.values()]
    },
  }
}

const SOURCE_OF: Partial<Record<DdqMessage['kind'], Source>> = {
  'online-state': 'state',
  event: 'event',
  alert: 'alert',
}
