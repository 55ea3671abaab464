import type { Test } from 'tap'
import type { Accepted, ClaimedMessage, MessageView, Outbox } from '../../../src/outbox/outbox.ts'
import type { Create, Opened, StoreOptions } from '../contract.ts'
import { NOON, type TestClock, testClock } from '../samples.ts'

export interface Fresh extends Opened {
  readonly clock: TestClock
  /** A message as people see it; fails when there is none. */
  view(id: string): Promise<MessageView>
}

/** An empty store with a clock of its own, closed when the test ends. */
export async function fresh(t: Test, create: Create, options: Partial<StoreOptions> = {}): Promise<Fresh> {
  const clock = testClock(NOON)
  const opened = await create({ clock, ...options })
  t.teardown(() => opened.close())
  return { ...opened, clock, view: id => viewOf(opened.outbox, id) }
}

export async function viewOf(outbox: Outbox, id: string): Promise<MessageView> {
  const view = await outbox.queries.findMessage(id)
  if (view === null) throw new Error('the message is not in the store')
  return view
}

/** The one message that a claim gave; fails when it gave another number of them. */
export async function claimOne(outbox: Outbox, leaseMs = 60_000): Promise<ClaimedMessage> {
  const { messages } = await outbox.claim('email', 10, leaseMs)
  const [first] = messages
  if (first === undefined || messages.length > 1)
    throw new Error(`claimed ${messages.length} messages instead of one`)
  return first
}

export function kinds(accepted: readonly Accepted[]): string[] {
  return accepted.map(each => each.is)
}
