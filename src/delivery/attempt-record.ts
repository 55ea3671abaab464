import type { Emit } from '../events/events.ts'
import type { AttemptRecord } from '../outbox/outbox.ts'
import type { Outcome } from '../providers/provider.ts'
import type { ChannelQueue } from './channel-queue.ts'

/** What is kept of an attempt. @param startedAt ms since the epoch. */
export function attemptRecord(
  provider: string,
  outcome: Outcome,
  startedAt: number,
  tookMs: number,
): AttemptRecord {
  return {
    at: startedAt,
    tookMs,
    provider,
    outcome: outcome.is,
    code: outcome.is === 'sent' ? '' : outcome.code,
    reply: outcome.reply,
  }
}

/** Tells a lane's breaker what became of an attempt, and reports when that opened or closed it. */
export function recordBreaker(lane: ChannelQueue, outcome: Outcome, now: number, emit: Emit): void {
  const { breaker } = lane
  const before = breaker.state()
  breaker.record(outcome, now)
  const after = breaker.state()
  if ((before === 'closed') === (after === 'closed')) return
  const { channel, name } = lane.provider
  const state = after === 'closed' ? 'closed' : 'open'
  emit({ type: 'breaker', channel, provider: name, state, reason: outcome.reply })
  if (state === 'closed') lane.dueAt = now
}
