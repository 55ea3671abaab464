import type { sample } from './samples.ts'

/**
 * The store as docs/durability.md, the readings of the contract and the port's comments have it, in small. It imports no rule of
 * what it judges; contract/walk.ts does the same to it and to a store, and compares them after each step.
 */

type Given = ReturnType<typeof sample>
type Charge = Given['charges'][number]
interface Line {
  readonly at: number
  readonly tookMs: number
  readonly provider: string
  readonly outcome: string
  readonly code: string
  readonly reply: string
}
type Counter = { readonly start: number; readonly current: number; readonly previous: number }
/** The end of an attempt: the message ends as `state`, or waits until `dueAt`. */
interface End {
  readonly to: 'final' | 'queued'
  readonly state?: string
  readonly answer?: string | null
  readonly providerId?: string
  readonly dueAt?: number
  readonly ambiguous?: number
  readonly canBeAsked?: boolean
  readonly delivered?: boolean
  readonly uncounted?: boolean
  readonly records?: readonly Line[]
}

/** A message as the model has it. */
export interface Kept extends Record<'attempts' | 'ambiguous' | 'arrivedAt' | 'expiresAt', number> {
  readonly given: Given
  state: string
  answer: string | null
  dueAt: number | null
  finalAt: number | null
  providerId: string | null
  /** The latest status that its provider reported. */
  status: string | null
  /** That status says that it did not arrive. */
  undelivered: boolean
  readonly lines: Line[]
  /** It was found to be due: then it stays so, whatever becomes of the clock. */
  ready: boolean
  lease: { token: string; until: number } | null
  /** Whom its attempt goes to, where that was said; null: none was noted to begin. */
  note: string | null
  /** A newer code came while it was being sent. */
  outdated: boolean
  /** The windows of quotas that it was counted in. */
  uses: readonly (readonly [name: string, start: number])[]
}

/** What a store says itself in a timeline: the outcome, a reason, and the sentence as it is packed. */
const SAID = {
  LEASE: ['lease-lost', ''],
  'NOT-BEGUN': ['released', ''],
  REPORT: ['reported', 'a delivery report says that it was taken\u001f{}'],
  CANCELLED: ['cancelled', ''],
  ONLY_TO: ['held', 'ONLY_TO does not name its recipient\u001f{}'],
} as const
function say(m: Kept, code: keyof typeof SAID, at: number, provider = ''): void {
  const [outcome, reply] = SAID[code]
  m.lines.push({ at, tookMs: 0, provider, outcome, code, reply })
}

const STAGES = [
  ['accepted'],
  ['queued'],
  ['sending'],
  ['sent'],
  ['delivered', 'undelivered', 'failed'],
  ['read', 'complained'],
]
const stageOf = (status: string | null) => STAGES.findIndex(each => status !== null && each.includes(status))
export const isAlive = ({ state }: Pick<Kept, 'state'>) => state === 'queued' || state === 'sending'

/** @param isShared several processes may have the store: no start corrects anything. */
export function createModel(isShared: boolean, mostAlive: number) {
  let messages: Kept[] = []
  /** Those that wait or are being sent, beside some that have ended. */
  let living: Kept[] = []
  /** The newest of each recipient that says the same. */
  const newest = new Map<string, Kept>()
  const byId = new Map<string, Kept>()
  let counters = new Map<string, Counter>()
  /** When something was first delivered to a number. */
  const knownSince = new Map<string, number>()
  /** Messages that ended by themselves, until a claim of their channel tells. */
  let untold: Kept[] = []
  const events: { readonly m: Kept; readonly type: string; readonly at: number }[] = []
  /** When mails were reported to have come back. */
  const bounces: number[] = []
  /** How messages ended, and when they came; `by` is -1 where that is taken back. */
  const ends: { readonly name: string; readonly at: number; readonly by: number }[] = []

  function countEnd({ given, lines, note, arrivedAt }: Kept, end: string, by: number): void {
    const { channel, kind } = given.message
    const carrier =
      lines.findLast(({ provider, outcome }) => provider !== '' && outcome !== 'skipped')?.provider ??
      (note || '-')
    ends.push({ name: `${channel} ${kind} ${carrier} ${given.country ?? '-'} ${end}`, at: arrivedAt, by })
  }
  function finish(m: Kept, state: string, now: number, answer: string | null = null): void {
    Object.assign(m, { state, answer, dueAt: null, lease: null, finalAt: now })
    events.push({ m, type: 'message.ended', at: now })
    if (state !== 'held') countEnd(m, state, 1)
    for (const [name, start] of ['expired', 'superseded', 'refused', 'held'].includes(state) ? m.uses : []) {
      const { windowMs, ...counter } = {
        windowMs: Number(name.split(' ').at(-1)),
        ...counters.get(name),
      } as Counter & { windowMs: number }
      if (counter.start === start)
        counters.set(name, { ...counter, current: Math.max(0, counter.current - 1) })
      else if (counter.start === start + windowMs)
        counters.set(name, { ...counter, previous: Math.max(0, counter.previous - 1) })
    }
    m.uses = []
  }
  function deliver({ given: { message, recipientHash } }: Kept, now: number): void {
    const since = Math.min(now, knownSince.get(recipientHash) ?? now)
    if (message.channel === 'sms') knownSince.set(recipientHash, since)
  }
  const outlive = (m: Kept, now: number) => finish(m, m.ambiguous > 0 ? 'unknown' : 'expired', now)

  /** @param isOver the last copy that may go out has gone, and nobody can be asked. */
  function putBack(m: Kept, dueAt: number, now: number, isOver = false): void {
    if (m.status !== null && m.ambiguous > 0) finish(m, 'sent', now)
    else if (m.outdated) finish(m, 'superseded', now)
    else if (dueAt >= m.expiresAt || isOver) outlive(m, now)
    else Object.assign(m, { state: 'queued', dueAt, lease: null, ready: dueAt <= now })
  }

  /** The answer for a message because of the newest that says the same; null: it is a new one. */
  function answerFor(m: Kept | undefined, now: number, isHeld: boolean) {
    if (m === undefined || m.state === 'expired' || (m.state === 'queued' && m.expiresAt <= now)) return null
    const {
      state,
      answer,
      given: {
        message: { id },
      },
    } = m
    if (isAlive(m)) return { is: 'in-progress', id }
    if ((state === 'held') !== isHeld) return null
    const isRecent =
      Math.abs(now - (m.finalAt ?? 0)) <= 45_000 || (state === 'superseded' && m.expiresAt > now)
    return isRecent ? { is: 'finished', id, state, answer } : null
  }
  const sayingOf = ({ recipientHash, dedupeKey }: Given) => `${recipientHash} ${dedupeKey}`
  function index(m: Kept): void {
    newest.set(sayingOf(m.given), m)
    byId.set(idOf(m), m)
  }
  const twinOf = (given: Given) => newest.get(sayingOf(given))
  const listLiving = () => (living = living.filter(isAlive))

  function counterOf({ quota, bucket, windowMs }: Charge, now: number) {
    const name = `${bucket} ${quota} ${windowMs}`
    const start = now - (now % windowMs)
    const kept = counters.get(name)
    // A replica's clock may be a little ahead. What is farther ahead was counted before the clock was set back.
    if (kept?.start === start || kept?.start === start + windowMs) return { name, ...kept }
    return { name, start, current: 0, previous: kept?.start === start - windowMs ? kept.current : 0 }
  }
  /** Use times window: what was counted in this window, and the share of the one before that still counts after so many ms. */
  function useAfter({ current, previous }: Counter, windowMs: number, now: number, ms: number): number {
    const passed = Math.floor(((now % windowMs) + ms) / windowMs)
    const [here, before] = [
      [current, previous],
      [0, current],
    ][passed] ?? [0, 0]
    return (here ?? 0) * windowMs + (before ?? 0) * (windowMs - ((now + ms) % windowMs))
  }
  function msUntilRoom(charge: Charge, now: number): number {
    const { limit, windowMs } = charge
    const fits = (ms: number) => useAfter(counterOf(charge, now), windowMs, now, ms) <= (limit - 1) * windowMs
    let [full, free] = [-1, 2 * windowMs]
    while (free - full > 1) {
      const middle = (free + full) >> 1
      if (fits(middle)) free = middle
      else full = middle
    }
    return free
  }

  function acceptOne(given: Given, now: number): object {
    const twin = twinOf(given)
    if (twin?.state === 'queued' && twin.expiresAt <= now) untold.push((outlive(twin, now), twin))
    const isHeld = given.held === true
    const known = answerFor(twin, now, isHeld)
    if (known !== null) return known
    const { message, groupKey, lease, recipientHash } = given
    const isKnown = () =>
      message.channel === 'sms'
        ? (knownSince.get(recipientHash) ?? now) < now - (now % 86_400_000)
        : messages.some(m => m.given.recipientHash === recipientHash && m.state === 'sent')
    const charges = given.charges.filter(({ newcomersOnly }) => !isHeld && !(newcomersOnly && isKnown()))
    const [fullest] = charges
      .map(charge => ({ ms: msUntilRoom(charge, now), charge }))
      .sort((a, b) => b.ms - a.ms)
    if (fullest !== undefined && fullest.ms > 0)
      return {
        is: 'over-quota',
        quota: fullest.charge.quota,
        retryAfterSeconds: Math.ceil(fullest.ms / 1000),
      }
    const nearing: string[] = []
    const shown: { newcomers?: number } = {}
    const uses = charges.map(charge => {
      const { name, ...counter } = counterOf(charge, now)
      const counted = { ...counter, current: counter.current + 1 }
      counters.set(name, counted)
      const { warnAt = Infinity, windowMs, quota } = charge
      const use = useAfter(counted, windowMs, now, 0) / windowMs
      if (use >= warnAt) nearing.push(quota)
      if (charge.newcomersOnly) shown.newcomers = use
      return [name, counter.start] as const
    })
    const isOlder = (m: Kept) => groupKey !== undefined && m.given.groupKey === groupKey
    const older = isHeld ? [] : listLiving().filter(isOlder)
    for (const m of older) m.outdated = true
    const superseded = older.filter(({ state }) => state === 'queued')
    for (const m of superseded) finish(m, 'superseded', now)
    const fresh =
      lease === undefined
        ? { state: 'queued', attempts: 0, dueAt: now, ready: true, lease: null, note: null }
        : {
            state: 'sending',
            attempts: 1,
            dueAt: null,
            ready: false,
            lease: { ...lease },
            note: lease.begins === true ? '' : null,
          }
    const { arrivedAt, expiresAt } = message
    const added: Kept = {
      given,
      arrivedAt,
      expiresAt,
      ambiguous: 0,
      answer: null,
      finalAt: null,
      providerId: null,
      status: null,
      undelivered: false,
      lines: [],
      outdated: false,
      uses,
      ...fresh,
    }
    messages.push(added)
    living.push(added)
    index(added)
    if (isHeld) {
      say(added, 'ONLY_TO', now)
      finish(added, 'held', now)
      return { is: 'held' }
    }
    return {
      is: 'stored',
      superseded: superseded.map(idOf).sort(),
      ...(nearing.length > 0 && { nearing }),
      ...shown,
    }
  }

  /** The oldest first, or in a backlog the newest. Where not all are taken, a quarter goes to destinations that would have none. */
  function share(due: readonly Kept[], limit: number, now: number): Kept[] {
    const inOrder = now - (due[0]?.dueAt ?? now) < 1000 ? due : due.toReversed()
    const whereOf = (m: Kept) => m.given.message.destination
    const taken = new Set(inOrder.slice(0, due.length <= limit ? limit : Math.floor((limit * 3) / 4)))
    const places = new Set([...taken].map(whereOf))
    for (const m of inOrder) {
      if (taken.size >= limit || places.has(whereOf(m))) continue
      taken.add(m)
      places.add(whereOf(m))
    }
    for (const m of inOrder) if (taken.size < limit) taken.add(m)
    return inOrder.filter(m => taken.has(m))
  }

  return {
    messages: () => messages,
    events: () => events,
    bounces: () => bounces,
    /** How many that came since a moment ended how, as the port's figures of one day. */
    ended: (since: number): string[] =>
      [
        ...Map.groupBy(
          ends.filter(({ at }) => at >= since),
          ({ name }) => name,
        ),
      ].map(([name, all]) => `${name} ${all.reduce((sum, { by }) => sum + by, 0)} 0`),
    find: (id: string) => byId.get(id),
    accept(given: readonly Given[], now: number) {
      const added = given.filter(each => !each.held && answerFor(twinOf(each), now, false) === null).length
      if (added > 0 && listLiving().length + added > mostAlive) return 'full'
      return given.map(each => acceptOne(each, now))
    },
    /** The tokens of the leases are for the caller to fill in. */
    claim(
      channel: string,
      limit: number,
      until: number,
      now: number,
      passOver: readonly string[] = [],
      codesOnly = false,
      only: readonly string[] = [],
    ) {
      const mine = listLiving().filter(m => m.given.message.channel === channel)
      const ended = (m: Kept) => isAlive(m) || untold.push(m)
      for (const m of mine) {
        if (m.lease === null || m.lease.until > now) continue
        const { note } = m
        say(m, note === null ? 'NOT-BEGUN' : 'LEASE', now, note ?? '')
        if (note === null) m.attempts -= 1
        else m.ambiguous += 1
        const isOver = note !== null && channel === 'email' && m.ambiguous >= 4
        putBack(m, note === null ? now : now + 5000, now, isOver)
        ended(m)
      }
      for (const m of mine) if (m.state === 'queued' && m.expiresAt <= now) ended((outlive(m, now), m))
      const waiting = mine.filter(({ state }) => state === 'queued')
      for (const m of waiting) m.ready ||= (m.dueAt ?? 0) <= now
      const isFree = (m: Kept) => !passOver.includes(m.given.message.destination)
      const isNamed = (m: Kept) => only.length === 0 || only.includes(m.given.message.destination)
      const free = mine.filter(isFree)
      const due = free.filter(m => m.ready && m.state === 'queued' && isNamed(m))
      const codes = due.filter(m => m.given.message.purpose === 'code')
      const claimed = share(codes, limit, now)
      const others = due.filter(m => m.given.message.purpose !== 'code')
      if (!codesOnly) claimed.push(...share(others, limit - claimed.length, now))
      for (const m of claimed) {
        Object.assign(m, {
          state: 'sending',
          attempts: m.attempts + 1,
          dueAt: null,
          ready: false,
          lease: { token: '', until },
          note: null,
        })
      }
      const settled = untold.filter(m => m.given.message.channel === channel)
      untold = untold.filter(m => m.given.message.channel !== channel)
      const nextOf = (isMeant: (m: Kept) => boolean) => {
        const isLeft = (m: Kept) => m.state === 'queued' && isMeant(m) && isFree(m)
        const times = mine.flatMap(
          m => m.lease?.until ?? (isLeft(m) ? (m.ready ? now : (m.dueAt ?? [])) : []),
        )
        return times.length === 0 ? null : Math.max(now, Math.min(...times))
      }
      const nextCodeAt = nextOf(m => m.given.message.purpose === 'code')
      return { claimed, settled, nextDueAt: nextOf(() => true), nextCodeAt }
    },
    begin(m: Kept, by: string) {
      if (m.outdated) return 'outdated'
      m.note = by
      return undefined
    },
    settle(m: Kept, token: string, end: End, now: number): object {
      if (m.lease?.token !== token) return { state: 'lost' }
      m.lines.push(...(end.records ?? []))
      m.providerId = end.providerId ?? m.providerId
      const most = m.given.message.channel === 'email' ? 4 : 2
      const isOver = (end.ambiguous ?? 0) > m.ambiguous && (end.ambiguous ?? 0) >= most && !end.canBeAsked
      m.ambiguous = end.ambiguous ?? m.ambiguous
      if (end.uncounted === true) m.attempts -= 1
      if (end.state === undefined) putBack(m, end.dueAt ?? now, now, isOver)
      else finish(m, end.state === 'unknown' && m.status !== null ? 'sent' : end.state, now, end.answer)
      if (end.delivered && m.state === 'sent') deliver(m, now)
      return { state: m.state, answer: m.answer }
    },
    report(
      by: { readonly id?: string; readonly providerId?: string; readonly channel: string },
      status: string,
      now: number,
      verdict: string | undefined,
    ): string {
      const mine = messages.filter(m => m.given.message.channel === by.channel)
      const m =
        mine.findLast(({ providerId }) => providerId !== null && providerId === by.providerId) ??
        mine.find(each => idOf(each) === by.id)
      if (m === undefined) return 'unknown'
      if (m.status !== null && stageOf(status) <= stageOf(m.status)) return 'stale'
      if (status === 'delivered' || status === 'read') deliver(m, now)
      events.push({ m, type: 'message.reported', at: now })
      const undelivered = verdict !== undefined && verdict !== 'ambiguous' && status !== 'complained'
      if (by.channel === 'email' && status === 'undelivered') bounces.push(now)
      if (undelivered !== m.undelivered) countEnd(m, 'undelivered', undelivered ? 1 : -1)
      Object.assign(m, { status, undelivered, providerId: m.providerId ?? by.providerId ?? null })
      if (m.state !== 'queued' || m.ambiguous === 0) return 'recorded'
      say(m, 'REPORT', now)
      untold.push((finish(m, 'sent', now), m))
      return 'recorded'
    },
    /** "Try now" of an operator, or the end of a message that waits. */
    act(m: Kept, isCancelled: boolean, now: number): boolean {
      if (m.state !== 'queued' || m.expiresAt <= now) return false
      if (isCancelled) {
        say(m, 'CANCELLED', now)
        finish(m, 'superseded', now)
      } else Object.assign(m, { dueAt: now, ready: true })
      return true
    },
    /** A process died, and another one has the store now. */
    restart(now: number): void {
      untold = []
      for (const m of isShared ? [] : listLiving()) {
        if (m.lease !== null) m.lease = { ...m.lease, until: 0 }
        if (m.arrivedAt > now) {
          Object.assign(m, { arrivedAt: now, expiresAt: now + m.expiresAt - m.arrivedAt })
          if (m.dueAt !== null) m.dueAt = now
        }
        // No wait is longer than an hour: the clock was set back.
        if (m.dueAt !== null && !m.ready && m.dueAt > now + 3_600_000) m.dueAt = now
      }
    },
    prune(before: number): void {
      messages = messages.filter(({ finalAt }) => finalAt === null || finalAt >= before)
      newest.clear()
      byId.clear()
      for (const m of messages) index(m)
    },
  }
}

export const idOf = (m: Kept) => m.given.message.id

/** A message as a claim gives it. */
export function claimedOf(m: Kept) {
  const { message, groupKey } = m.given
  const { arrivedAt, expiresAt, attempts, ambiguous, lines } = m
  const copy = lines.findLast(({ outcome }) => outcome === 'ambiguous' || outcome === 'lease-lost')
  const holder = ambiguous > 0 ? { ambiguousAt: copy?.provider ?? '' } : {}
  const lease = { token: '', until: 0, ...m.lease }
  return { ...message, arrivedAt, expiresAt, attempts, ambiguous, groupKey, lease, ...holder }
}
