import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Test } from 'tap'
import type { Channel } from '../../../src/messages/message.ts'
import { BacklogFull, type Lease, type Outbox, type Settlement } from '../../../src/outbox/outbox.ts'
import { seededRandom } from '../../delivery/simulation.ts'
import type { Create } from '../contract.ts'
import { claimedOf, createModel, idOf, isAlive, type Kept } from '../model.ts'
import {
  destinationOf,
  FINAL_STATES,
  lease,
  type Sample,
  sample,
  type TestClock,
  testClock,
} from '../samples.ts'

/** How often each step is taken. What it is done to, and how, its dice decide among what there is by then. */
const STEPS = { accept: 10, claim: 6, begin: 3, settle: 7, report: 4, act: 2, wait: 7, die: 3, days: 1 }
type Step = { readonly is: keyof typeof STEPS; readonly dice: number }

/** The windows are powers of two, so that no share of one is rounded. */
const TENS = { quota: 'tens', windowMs: 2 ** 16, limit: 2, warnAt: 2 }
const DAY = { quota: 'day', windowMs: 2 ** 18, limit: 5, warnAt: 4 }
const NEWCOMER = {
  quota: 'newcomer',
  windowMs: 2 ** 16,
  limit: 2,
  newcomersOnly: true,
} as const

const MOST_ALIVE = 10
const HOUR_MS = 3_600_000
const LISTED = [...FINAL_STATES, 'queued', 'sending', 'undelivered'] as const
const FIELDS = [
  'state',
  'answer',
  'attempts',
  'ambiguous',
  'dueAt',
  'finalAt',
  'arrivedAt',
  'expiresAt',
  'providerId',
] as const

export interface Walks {
  readonly numRuns: number
  /** Another one each time unless given. */
  readonly seed?: number
}

/** A walk does the same to a store and to the model (../model.ts), and compares the two after each step. */
export async function walk(t: Test, create: Create, walks: Walks): Promise<void> {
  await t.test('on random walks the store does what the model does, step by step', async t => {
    const kinds = Object.entries(STEPS).flatMap(([is, often]) => Array<string>(often).fill(is))
    const steps = fc.array(fc.record({ is: fc.constantFrom(...kinds), dice: fc.nat() }), {
      maxLength: 80,
      size: 'max',
    })
    let compared = 0
    await fc.assert(
      fc.asyncProperty(steps, async taken => {
        const clock = testClock()
        const store = await create({ clock, maxBacklog: MOST_ALIVE, retentionDays: 1, keepsEvents: true })
        const walker = createWalker(store.outbox, store.reopen, clock)
        try {
          for (const each of taken) compared += await walker.take(each as Step)
        } finally {
          await store.close()
        }
      }),
      // To shrink a walk takes minutes; its trail is in the message.
      { ...walks, endOnFailure: true },
    )
    t.ok(compared > 0, `${compared} comparisons`)
  })
}

function createWalker(opened: Outbox, reopen: () => Promise<Outbox>, clock: TestClock) {
  let outbox = opened
  const isShared = outbox.sharedLeases !== undefined
  const model = createModel(isShared, MOST_ALIVE)
  /** Claims that this process has made, those that it has lost or settled too. */
  let held: { readonly m: Kept; readonly lease: Lease }[] = []
  /** What callbacks have said. */
  const asked: (Sample & Readonly<{ who: readonly number[]; codes: readonly string[] }>)[] = []
  const trail: string[] = []
  /** A counter that has run out may be gone when the clock is set back: then the walk counts in other ones. */
  let counters = 0
  let compared = 0

  function same(found: unknown, expected: unknown, what: string): void {
    compared += 1
    assert.deepEqual(found, expected, `${what}; ${trail.join(', ')}`)
  }

  /** Takes a step, and compares. @returns how many comparisons that were. */
  async function take({ is, dice }: Step): Promise<number> {
    const before = compared
    const random = seededRandom(dice)
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
    /** One of the latest few. */
    const pickLate = <T>(from: readonly T[]): T | undefined =>
      from.length === 0 ? undefined : pick(from.slice(-6))
    trail.push(is)
    await steps[is](pick, pickLate, clock.now())
    await compareAll(pick(LISTED))
    return compared - before
  }

  type Pick = <T>(from: readonly T[]) => T
  type PickLate = <T>(from: readonly T[]) => T | undefined
  const steps: Record<Step['is'], (pick: Pick, pickLate: PickLate, now: number) => Promise<void>> = {
    async accept(pick, pickLate, now) {
      const isNew = pick([true, false])
      const said = (isNew ? undefined : pickLate(asked)) ?? {
        channel: pick(['email', 'email', 'sms'] as const),
        purpose: pick(['code', 'code', 'link'] as const),
        lifeMs: pick([4000, 60_000, 600_000, 3 * HOUR_MS, 3 * HOUR_MS]),
        codes: [pick(['1', '2', '3']), pick(['1', '2', '3'])],
        who: pick([[0], [0], [1], [0, 1], [0, 0], [0, 2], [3]]),
      }
      asked.push(said)
      const handed = pick(['no', 'no', 'waits', 'begins'])
      const charges = pick([[], [TENS], [TENS], [DAY, TENS], [NEWCOMER]])
      const isHeld = pick([false, false, false, false, true])
      const given = said.who.map((who, n) =>
        sample(clock, {
          ...said,
          code: said.codes[n] ?? '',
          recipient:
            said.channel === 'email'
              ? `r${who}@${who > 1 ? 'b' : 'a'}.example`
              : `${who > 1 ? '+49' : '+86'}1380013800${who}`,
          charges: charges.map(each => ({ ...each, bucket: `${who} ${counters}` })),
          ...(isHeld && { held: true }),
          ...(handed !== 'no' &&
            !isHeld && { lease: { ...lease(clock, 30_000), begins: handed === 'begins' } }),
        }),
      )
      const expected = model.accept(given, now)
      const answers = await outbox.accept(given).catch((error: unknown) => {
        if (error instanceof BacklogFull) return 'full' as const
        throw error
      })
      const sorted = (each: object) =>
        'superseded' in each ? { ...each, superseded: (each.superseded as string[]).toSorted() } : each
      same(answers === 'full' ? answers : answers.map(sorted), expected, 'what is answered')
      for (const { message, lease: own } of given) {
        const m = model.find(message.id)
        if (m === undefined || own === undefined) continue
        held.push({ m, lease: own })
        // Also where the lease says so already, the delivery notes it.
        if (m.lease === null || own.begins !== true) continue
        await outbox.beginAttempt(message.id, own)
        model.begin(m, '')
      }
    },
    claim(pick) {
      const [channel, limit] = [pick(['email', 'email', 'sms'] as const), pick([0, 1, 2, 3, 9])]
      const places = ['r0@a.example', 'r0@b.example', '+86', '+49'].map(to => destinationOf(channel, to))
      const passOver = pick([[], [], places.slice(0, 1), places.slice(1, 3), places])
      return claim(channel, limit, passOver, pick([false, true]))
    },
    async begin(pick, pickLate) {
      const claim = pickLate(held.filter(({ m, lease: own }) => m.lease?.token === own.token))
      if (claim === undefined) return
      const by = pick([undefined, 'tencent', 'twilio'])
      const noted = await outbox.beginAttempt(
        idOf(claim.m),
        by ? claim.lease : { ...claim.lease, begins: false },
        by,
      )
      same(noted, model.begin(claim.m, by ?? ''), 'what is noted')
    },
    async settle(pick, pickLate, now) {
      const claim = pickLate(held)
      if (claim === undefined) return
      const { m, lease: own } = claim
      const end = endOf(pick(ENDS), m, now)
      same(await outbox.settle(idOf(m), own, end), model.settle(m, own.token, end, now), 'what is settled')
    },
    async report(pick, pickLate, now) {
      const m = pickLate(model.messages().filter(({ state }) => state !== 'held'))
      if (m === undefined) return
      const [id, providerId] = [idOf(m), `${pick(['P', 'P', 'Q'])}${idOf(m)}`]
      const by = { channel: m.given.message.channel, ...pick([{ id }, { providerId }, { id, providerId }]) }
      const status = pick([
        'queued',
        'sent',
        'delivered',
        'undelivered',
        'read',
        'complained',
        'of another carrier',
      ])
      const verdict = pick([undefined, 'recipient', 'recipient', 'ambiguous'] as const)
      const fault = verdict && { fault: { verdict, scope: 'recipient', reason: null } as const }
      const { is } = await outbox.writeReceipt({ ...by, status, errorCode: null, at: now, ...fault })
      same(is, model.report(by, status, now, verdict), 'what a report is')
    },
    async act(pick, pickLate, now) {
      const m = pickLate(model.messages())
      if (m === undefined) return
      const does = pick(['cancelMessage', 'retryMessage'] as const)
      same(await outbox.actions[does](idOf(m)), model.act(m, does === 'cancelMessage', now), does)
    },
    wait(pick, pickLate, now) {
      const m = pickLate(model.messages())
      const window = now + TENS.windowMs - (now % TENS.windowMs)
      const edges = [
        m?.dueAt,
        m?.expiresAt,
        m?.lease?.until,
        (m?.finalAt ?? now) + 45_001,
        window,
        // From then on the newest goes first.
        (m?.dueAt ?? now) + 1000,
      ]
      const until = (pick(edges) ?? now + 5000) + pick([-1, 0, 0])
      return wait(until > now && until < now + HOUR_MS ? until - now : pick([1, 5000, 20_000]))
    },
    async die(pick, pickLate, now) {
      if (pick([true, false, false])) return dieOften(pick, pickLate, now)
      const ms = pick([0, 0, 60_000, -5000, -70_000, -600_000])
      if (ms < 0) counters += 1
      await wait(ms)
      await restart()
    },
    // A shared store prunes by days, which have tests of their own.
    days: async pick => (isShared ? undefined : wait(pick([20, 26]) * HOUR_MS)),
  }

  async function claim(
    channel: Channel,
    limit: number,
    passOver: readonly string[] = [],
    codesOnly = false,
  ): Promise<void> {
    const now = clock.now()
    const { messages, settled, ...next } = await outbox.claim(channel, limit, 30_000, passOver, codesOnly)
    const expected = model.claim(channel, limit, now + 30_000, now, passOver, codesOnly)
    const untilOf = <T extends { readonly lease: Lease }>({ lease: { until }, ...each }: T) => ({
      ...each,
      until,
    })
    same(
      messages.map(untilOf),
      expected.claimed.map(m => untilOf(claimedOf(m))),
      'what a claim gives',
    )
    const told = expected.settled.map(m => ({
      ...only(m.given.message, ['id', 'channel', 'kind']),
      state: m.state,
    }))
    same(byId(settled), byId(told), 'what a claim tells')
    same(next, only(expected, ['nextDueAt', 'nextCodeAt']), 'when something is due')
    for (const [at, m] of expected.claimed.entries()) {
      const own = messages[at]?.lease as Lease
      m.lease = { ...own }
      held.push({ m, lease: own })
    }
  }

  /** Whoever takes over dies as well, in the middle of what it has taken over. */
  async function dieOften(pick: Pick, pickLate: PickLate, now: number): Promise<void> {
    const channel = pick(['email', 'email', 'sms'] as const)
    for (let deaths = pick([2, 3, 5]); deaths > 0; deaths -= 1) {
      await claim(channel, 9)
      for (let begun = pick([0, 2, 4, 4]); begun > 0; begun -= 1) await steps.begin(pick, pickLate, now)
      await restart()
      await wait(isShared ? 30_000 : 1)
      await claim(channel, 0)
      await wait(5000)
    }
  }

  async function restart(): Promise<void> {
    outbox = await reopen()
    model.restart(clock.now())
    if (!isShared) held = []
    await prune()
  }

  async function wait(ms: number): Promise<void> {
    trail.push(`${ms}`)
    clock.advance(ms)
    await prune()
  }

  /** The store prunes after a call that it is told the time with. */
  async function prune(): Promise<void> {
    await outbox.actions.retryMessage('')
    if (!isShared) model.prune(clock.now() - 24 * HOUR_MS)
  }

  /** @param state of which a list is compared, too. */
  async function compareAll(state: (typeof LISTED)[number]): Promise<void> {
    const { listMessages, readEnded, readSummary, readWaiting } = outbox.queries
    const kept = model.messages()
    const { messages: views } = await listMessages({ limit: 1000 })
    const seen = views.map(({ id, receipt, timeline, ...view }) => ({
      id,
      ...only(view, FIELDS),
      status: receipt?.status ?? null,
      lines: timeline,
    }))
    const expected = kept.map(m => ({ id: idOf(m), ...only(m, FIELDS), status: m.status, lines: m.lines }))
    same(byId(seen), byId(expected), 'the messages')
    // In the middle of a minute, as a rule, in which some came before.
    const since = Math.max(kept[kept.length >> 1]?.arrivedAt ?? 0, clock.now() - 20 * HOUR_MS)
    const { messages: listed } = await listMessages({ limit: 1000, since, state })
    const idsOf = (views: readonly { readonly id: string }[]) => views.map(({ id }) => id).toSorted()
    const isOf = (m: Kept) => (state === 'undelivered' ? m.undelivered : m.state === state)
    const those = kept.filter(m => m.arrivedAt >= since && isOf(m))
    same(idsOf(listed), those.map(idOf).toSorted(), `what is ${state}`)
    const told = await outbox.events?.readEvents(1000)
    const viewOf = (m: Kept) => views.find(({ id }) => id === idOf(m)) ?? null
    // Of each message in their order.
    same(
      byId((told?.events ?? []).map(({ type, at, message }) => ({ id: message?.id, type, at, message }))),
      byId(model.events().map(({ m, ...each }) => ({ id: viewOf(m)?.id, ...each, message: viewOf(m) }))),
      'the events',
    )
    const minute = (at: number) => Math.floor(at / 60_000)
    const hour = Math.floor(since / HOUR_MS) * HOUR_MS
    const ended = (await readEnded(hour, hour)).map(each => Object.values(each).join(' '))
    same(ended.toSorted(), model.ended(hour).toSorted(), 'how they ended')
    const { backlog, oldest, counts, waitingRecipients, ...summary } = await readSummary(since)
    same(Number(summary.bytes) > 0, true, 'it takes room')
    const back = model.bounces().filter(at => minute(at) >= minute(since))
    same(summary.bounced, back.length, 'what came back')
    const final = kept.filter(m => m.finalAt !== null && m.state !== 'held')
    same(idsOf(summary.ended), final.map(idOf).toSorted(), 'what ended last')
    for (const channel of ['email', 'sms'] as const) {
      const alive = kept.filter(m => isAlive(m) && m.given.message.channel === channel)
      const arrivals = alive.map(m => m.arrivedAt)
      const first = arrivals.length === 0 ? null : Math.min(...arrivals)
      const people = new Set(alive.map(m => m.given.recipientHash)).size
      const found = [backlog[channel], oldest[channel], waitingRecipients[channel]]
      same(found, [arrivals.length, first, people], 'the backlog')
      const queued = alive.filter(m => m.state === 'queued')
      const places = Map.groupBy(queued, m => m.given.message.destination)
      const waiting = await readWaiting(channel, [...places.keys()])
      const dueAts = waiting.map(({ dueAt }) => dueAt)
      same(
        dueAts,
        dueAts.toSorted((a, b) => a - b),
        'what waits longest first',
      )
      same(
        waiting.map(({ destination, count, dueAt }) => `${destination} ${count} ${dueAt}`).toSorted(),
        [...places]
          .map(([to, all]) => `${to} ${all.length} ${Math.min(...all.map(m => m.dueAt ?? 0))}`)
          .toSorted(),
        'what waits by destination',
      )
    }
    const late = kept.filter(m => minute(m.arrivedAt) >= minute(since))
    const counted = Map.groupBy(late, m => `${m.given.message.channel} ${m.given.message.kind} ${m.state}`)
    same(
      counts.map(({ channel, kind, state, count }) => `${channel} ${kind} ${state} ${count}`).toSorted(),
      [...counted].map(([name, those]) => `${name} ${those.length}`).toSorted(),
      'the counts',
    )
  }

  return { take }
}

const ENDS = [
  'sent',
  'delivered',
  'refused',
  'unknown',
  'held',
  'retry',
  'retry',
  'late',
  'last',
  'ambiguous',
  'ambiguous',
  'ambiguous',
  'asked',
  'released',
] as const

function endOf(how: (typeof ENDS)[number], m: Kept, now: number): Settlement {
  const canBeAsked = how === 'asked'
  const outcome = canBeAsked ? 'ambiguous' : how
  const record = { at: now, tookMs: 1, provider: 'aliyun', outcome, code: '', reply: '' }
  const records = [record]
  if (how === 'sent' || how === 'delivered')
    return {
      to: 'final',
      state: 'sent',
      answer: null,
      providerId: `P${idOf(m)}`,
      delivered: how === 'delivered',
      records,
    }
  if (how === 'refused') {
    const passedBy = { ...record, provider: 'twilio', outcome: 'skipped' }
    return { to: 'final', state: how, answer: 'content', records: [record, passedBy] }
  }
  if (how === 'unknown' || how === 'held') return { to: 'final', state: how, answer: null, records }
  if (how === 'released') return { to: 'queued', dueAt: now, uncounted: true }
  const ambiguous = outcome === 'ambiguous' ? m.ambiguous + 1 : m.ambiguous
  const dueAt = { late: now + 2 * HOUR_MS, last: m.expiresAt }[how as 'late'] ?? now + 5000
  return { to: 'queued', dueAt, ambiguous, canBeAsked, records }
}

function only<T>(from: T, keys: readonly (keyof T)[]): object {
  return Object.fromEntries(keys.map(key => [key, from[key]]))
}

function byId(from: readonly object[]): readonly object[] {
  return from.toSorted((a, b) => String(Object(a).id).localeCompare(String(Object(b).id)))
}
