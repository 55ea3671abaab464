import type { Test } from 'tap'
import type { StoreKeys } from '../../src/outbox/encryption.ts'
import type { Enterprise, Outbox } from '../../src/outbox/outbox.ts'
import { accepting } from './contract/accepting.ts'
import { admin } from './contract/admin.ts'
import { bouncing } from './contract/bouncing.ts'
import { claiming } from './contract/claiming.ts'
import { enterprises } from './contract/enterprises.ts'
import { events } from './contract/events.ts'
import { forgetting } from './contract/forgetting.ts'
import { interleavings } from './contract/interleavings.ts'
import { memos } from './contract/memos.ts'
import { quotas } from './contract/quotas.ts'
import { refusing } from './contract/refusing.ts'
import { reporting } from './contract/reporting.ts'
import { secrets } from './contract/secrets.ts'
import { settling } from './contract/settling.ts'
import { walk } from './contract/walk.ts'

export interface StoreOptions {
  readonly clock: { now(): number }
  readonly maxBacklog?: number
  readonly retentionDays?: number
  readonly storeKeys?: StoreKeys
  readonly keepsEvents?: boolean
  readonly enterprise?: Enterprise
  readonly onCommit?: (event: { readonly ms: number; readonly calls: number }) => void
}

/** A store under test, empty at first. */
export interface Opened {
  readonly outbox: Outbox
  /** Another process on the same messages; for a store that only one may hold, the same one. */
  peer(): Promise<Outbox>
  /** Ends the process that held the store, without giving anything back, and opens it again. */
  reopen(changed?: Partial<StoreOptions>): Promise<Outbox>
  /** Ends in order all processes that hold it, where several may; `reopen` goes on. */
  end(): Promise<void>
  /** All that lies on disk, once what was removed is gone from there too. */
  bytes(): Promise<Buffer>
  /** Every message as it is stored, oldest first: its payload, null where there is none, and all of its row. */
  rows(): Promise<readonly { readonly payload: Uint8Array | null; readonly row: string }[]>
  close(): Promise<void>
}

export type Create = (options: StoreOptions) => Promise<Opened>

/** Every promise of the outbox's port; each store passes all of it. */
export async function outboxContract(
  t: Test,
  name: string,
  create: Create,
  walks: Parameters<typeof walk>[2],
): Promise<void> {
  for (const suite of [
    accepting,
    claiming,
    settling,
    reporting,
    bouncing,
    refusing,
    interleavings,
    quotas,
    memos,
    events,
    secrets,
    enterprises,
    forgetting,
    admin,
  ]) {
    await t.test(`${name}: ${suite.name}`, async t => await suite(t, create))
  }
  await t.test(`${name}: walk`, async t => await walk(t, create, walks))
}
