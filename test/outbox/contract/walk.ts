import fc from 'fast-check'
import type { Test } from 'tap'
import type { ClaimedMessage, Lease, MessageView, State } from '../../../src/outbox/outbox.ts'
import type { Create } from '../contract.ts'
import { lease, sample } from '../samples.ts'
import { TRANSITIONS } from '../transitions.ts'
import { type Fresh, fresh } from './store.ts'

/** One step of a random walk. */
type Step =
  | { readonly is: 'accept'; readonly who: number; readonly code: number; readonly handed: boolean }
  | { readonly is: 'claim'; readonly limit: number }
  | {
      readonly is: 'settle'
      readonly which: number
      readonly how: 'sent' | 'refused' | 'retry' | 'ambiguous' | 'released'
    }
  | { readonly is: 'cancel'; readonly which: number }
  | { readonly is: 'wait'; readonly ms: number }

const steps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        is: fc.constant('accept' as const),
        who: fc.nat(2),
        code: fc.nat(3),
        handed: fc.boolean(),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ is: fc.constant('claim' as const), limit: fc.integer({ min: 0, max: 3 }) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        is: fc.constant('settle' as const),
        which: fc.nat(5),
        how: fc.constantFrom('sent', 'refused', 'retry', 'retry', 'ambiguous', 'released'),
      }),
    },
    { weight: 1, arbitrary: fc.record({ is: fc.constant('cancel' as const), which: fc.nat(5) }) },
    {
      weight: 2,
      arbitrary: fc.record({ is: fc.constant('wait' as const), ms: fc.constantFrom(1000, 20_000, 46_000) }),
    },
  ),
  { minLength: 10, maxLength: 40 },
)

const ALLOWED = new Set(TRANSITIONS.map(({ from, to }) => `${from} ${to}`))

/** Whatever happens, in whatever order, these hold. */
export async function walk(t: Test, create: Create): Promise<void> {
  await t.test(
    'on any walk: only known changes of state, one live duplicate, one waiting code a group, true counts',
    async t => {
      await fc.assert(
        fc.asyncProperty(steps, async walked => {
          const store = await fresh(t, create)
          const walker = createWalker(store)
          for (const step of walked) {
            await walker.take(step)
            await walker.check()
          }
          await store.close()
        }),
        { numRuns: 12, seed: 20261120 },
      )
    },
  )
}

function createWalker({ outbox, clock }: Fresh) {
  const held: { id: string; lease: Lease }[] = []
  const accepted: string[] = []
  /** Dedupe key and group of each message, by id: the store is not asked to tell them. */
  const names = new Map<string, { dedupeKey: string; group: string }>()
  const seen = new Map<string, State>()

  async function take(step: Step): Promise<void> {
    switch (step.is) {
      case 'accept': {
        const own = step.handed ? lease(clock, 30_000) : undefined
        const given = sample(clock, {
          recipient: `r${step.who}@example.com`,
          code: `${step.code}`,
          lifeMs: 60_000,
          ...(own === undefined ? {} : { lease: own }),
        })
        const [answer] = await outbox.accept([given])
        if (answer?.is !== 'stored') return
        const { id } = given.message
        names.set(id, { dedupeKey: given.dedupeKey, group: given.groupKey ?? id })
        accepted.push(id)
        if (own !== undefined) held.push({ id, lease: own })
        return
      }
      case 'claim': {
        const { messages } = await outbox.claim('email', step.limit, 30_000)
        for (const each of messages) mustBeAlive(each)
        held.push(...messages)
        return
      }
      case 'settle': {
        const [claim] = held.splice(step.which % Math.max(held.length, 1), 1)
        if (claim !== undefined) await settle(claim, step.how)
        return
      }
      case 'cancel':
        await outbox.actions.cancelMessage(accepted[step.which % Math.max(accepted.length, 1)] ?? '')
        return
      case 'wait':
        clock.advance(step.ms)
    }
  }

  function mustBeAlive({ expiresAt }: ClaimedMessage): void {
    if (expiresAt <= clock.now()) throw new Error('claimed after its life')
  }

  async function settle({ id, lease: own }: { id: string; lease: Lease }, how: string): Promise<void> {
    const dueAt = clock.now() + 5000
    if (how === 'sent') await outbox.settle(id, own, { to: 'final', state: 'sent', answer: null })
    else if (how === 'refused')
      await outbox.settle(id, own, { to: 'final', state: 'refused', answer: 'content' })
    else if (how === 'ambiguous') await outbox.settle(id, own, { to: 'queued', dueAt, ambiguous: 1 })
    else if (how === 'released') await outbox.settle(id, own, { to: 'queued', dueAt, uncounted: true })
    else await outbox.settle(id, own, { to: 'queued', dueAt })
  }

  async function check(): Promise<void> {
    const all = await outbox.queries.listMessages({ limit: 1000 })
    if (all.length !== accepted.length)
      throw new Error(`${all.length} messages instead of ${accepted.length}`)
    for (const view of all) checkTransition(view)
    const live = all.filter(each => each.state === 'queued' || each.state === 'sending')
    const waiting = all.filter(each => each.state === 'queued')
    unique(
      live.map(each => names.get(each.id)?.dedupeKey),
      'live messages with a dedupe key',
    )
    unique(
      waiting.map(each => names.get(each.id)?.group),
      'waiting codes of a group',
    )
    const { backlog, counts } = await outbox.queries.readSummary(0, 60_000)
    if (backlog.email !== live.length)
      throw new Error(`a backlog of ${backlog.email} instead of ${live.length}`)
    for (const { state, count } of counts) {
      const real = all.filter(each => each.state === state).length
      if (count !== real) throw new Error(`counted ${count} ${state} instead of ${real}`)
    }
  }

  /** Two changes may lie between two looks (a retry that is claimed again at once), so each way there is allowed. */
  function checkTransition({ id, state }: MessageView): void {
    const from = seen.get(id) ?? 'new'
    seen.set(id, state)
    if (from === state || ALLOWED.has(`${from} ${state}`)) return
    const between = TRANSITIONS.some(({ from: a, to: b }) => a === from && ALLOWED.has(`${b} ${state}`))
    if (!between) throw new Error(`${from} became ${state}`)
  }

  return { take, check }
}

function unique(names: readonly (string | undefined)[], what: string): void {
  if (new Set(names).size !== names.length) throw new Error(`two ${what}`)
}
