import {
  type Acceptance,
  type AttemptRecord,
  type FinalState,
  type Lease,
  type Outbox,
  type State,
  StoreUnavailable,
} from '../../src/outbox/outbox.ts'
import {
  afterLostLease,
  afterNewerCode,
  afterSettlement,
  appendToTimeline,
  claimOrder,
  isLive,
  lostLeaseRecord,
  type MessageState,
  providerOfCopy,
  rankOfPurpose,
  stateAtAcceptance,
  stateAtClaim,
  stateAtExpiry,
} from '../../src/outbox/rules.ts'

/** A message as the outbox has it. */
export interface Row {
  readonly acceptance: Acceptance
  state: State
  attempts: number
  ambiguous: number
  arrivedAt: number
  expiresAt: number
  dueAt: number | null
  lease: Lease | undefined
  begun: boolean
  /** Whom its attempt went to, as far as that was noted. */
  begunBy: string | null
  outdated: boolean
  finalAt: number | null
  timeline: readonly AttemptRecord[]
}

export interface MemoryOutbox
  extends Pick<Outbox, 'accept' | 'claim' | 'beginAttempt' | 'settle' | 'actions'> {
  readonly rows: ReadonlyMap<string, Row>
  /** Fails every call from now on, or no longer. */
  fails: boolean
  /** What a process finds that starts after one that was killed. The clock may have been set back meanwhile. */
  recover(now: number): void
}

/**
 * The outbox in memory, by the rules of both stores.
 * @param now ms since the epoch, by the clock of the process.
 * @param run runs a call after the time that a store takes, one after the other; never, when the process was killed.
 */
export function createMemoryOutbox(
  now: () => number,
  run: <T>(work: () => T) => Promise<T>,
  beginsAtOnce: boolean,
): MemoryOutbox {
  const rows = new Map<string, Row>()
  let tokens = 0

  function change(row: Row, next: Pick<MessageState, 'state' | 'attempts' | 'ambiguous' | 'dueAt'>): void {
    const { state, attempts, ambiguous, dueAt } = next
    Object.assign(row, { state, attempts, ambiguous, dueAt })
    if (state !== 'sending') row.lease = undefined
    if (!isLive(state)) row.finalAt = now()
  }

  const end = (row: Row, state: FinalState): void => change(row, { ...row, state, dueAt: null })
  const queued = () => [...rows.values()].filter(each => each.state === 'queued')

  function supersedeOlder(groupKey: string | undefined): string[] {
    if (groupKey === undefined) return []
    const superseded: string[] = []
    for (const [id, row] of rows) {
      if (row.acceptance.groupKey !== groupKey) continue
      const verdict = afterNewerCode(row.state)
      if (verdict === 'outdated') row.outdated = true
      if (verdict !== 'superseded') continue
      end(row, 'superseded')
      superseded.push(id)
    }
    return superseded
  }

  function store(acceptance: Acceptance) {
    const { message, lease, groupKey } = acceptance
    const superseded = supersedeOlder(groupKey)
    const { arrivedAt, expiresAt } = message
    const first = stateAtAcceptance(lease, now())
    const begun = lease?.begins === true
    rows.set(message.id, {
      acceptance,
      ...first,
      arrivedAt,
      expiresAt,
      lease,
      begun,
      begunBy: null,
      outdated: false,
      finalAt: null,
      timeline: [],
    })
    return { is: 'stored', superseded } as const
  }

  function takeOver(row: Row): void {
    row.timeline = appendToTimeline(row.timeline, [lostLeaseRecord(row.begun, row.begunBy, now())])
    change(row, afterLostLease(row, now(), row.outdated))
  }

  /** Codes, or everything else, in the order in which they are claimed. */
  function dueOf(rank: 0 | 1): Row[] {
    const due = queued().filter(
      ({ acceptance: { message }, dueAt }) =>
        rankOfPurpose(message.purpose) === rank && (dueAt ?? 0) <= now(),
    )
    return claimOrder(due[0]?.dueAt ?? now(), now()) === 'oldest-first' ? due : due.reverse()
  }

  function claim(limit: number, leaseMs: number) {
    const settled: { id: string; state: FinalState; channel: 'email' | 'sms'; kind: string }[] = []
    const before = [...rows.values()].filter(each => isLive(each.state))
    for (const row of before) {
      if (row.lease !== undefined && row.lease.until <= now()) takeOver(row)
      if (row.state === 'queued' && row.expiresAt <= now()) end(row, stateAtExpiry(row.ambiguous))
      const { id, channel, kind } = row.acceptance.message
      if (!isLive(row.state)) settled.push({ id, channel, kind, state: row.state })
    }
    const messages = [...dueOf(0), ...dueOf(1)].slice(0, limit).map(row => {
      change(row, stateAtClaim(row))
      const lease = { token: `claim ${(tokens += 1)}`, until: now() + leaseMs }
      Object.assign(row, { lease, begun: false, begunBy: null })
      const { message, groupKey } = row.acceptance
      const { attempts, ambiguous, arrivedAt, expiresAt, timeline } = row
      const ambiguousAt = ambiguous > 0 ? { ambiguousAt: providerOfCopy(timeline) } : {}
      return { ...message, arrivedAt, expiresAt, lease, attempts, ambiguous, ...ambiguousAt, groupKey }
    })
    const next = [...rows.values()].map(({ dueAt, lease }) => dueAt ?? lease?.until ?? Infinity)
    const nextDueAt = Math.max(now(), Math.min(...next))
    return { messages, settled, nextDueAt: nextDueAt === Infinity ? null : nextDueAt }
  }

  function held(id: string, lease: Lease): Row | undefined {
    const row = rows.get(id)
    return row?.state === 'sending' && row.lease?.token === lease.token ? row : undefined
  }

  const call = <T>(work: () => T): Promise<T> =>
    run(() => {
      if (outbox.fails) throw new StoreUnavailable('the store cannot commit now')
      return work()
    })

  const outbox: MemoryOutbox = {
    rows,
    fails: false,
    accept: messages => call(() => messages.map(store)),
    claim: (_channel, limit, leaseMs) => call(() => claim(limit, leaseMs)),
    beginAttempt(id, lease, provider) {
      const begin = (): void => {
        const row = held(id, lease)
        if (row !== undefined) Object.assign(row, { begun: true, begunBy: provider ?? null })
      }
      return beginsAtOnce ? begin() : call(begin)
    },
    settle: (id, lease, settlement) =>
      call(() => {
        const row = held(id, lease)
        if (row === undefined) return { state: 'lost' }
        const next = afterSettlement(row, settlement, row.outdated)
        row.timeline = appendToTimeline(row.timeline, settlement.records ?? [])
        change(row, next)
        return { state: next.state, answer: next.answer }
      }),
    actions: {
      retryMessage: id =>
        call(() => {
          const row = rows.get(id)
          if (row?.state !== 'queued') return false
          row.dueAt = now()
          return true
        }),
      cancelMessage: async () => false,
      allowAgain: async () => false,
      forgetRecipient: async () => 0,
    },
    recover(at) {
      for (const row of rows.values()) {
        if (!isLive(row.state)) continue
        if (row.arrivedAt > at) {
          Object.assign(row, { expiresAt: at + row.expiresAt - row.arrivedAt, arrivedAt: at })
          if (row.dueAt !== null) row.dueAt = at
        }
        if (row.state === 'sending') takeOver(row)
      }
    },
  }
  return outbox
}
