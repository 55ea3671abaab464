import { readFile } from 'node:fs/promises'
import t from 'tap'
import { BacklogFull, FINAL_STATES, LIVE_STATES, type State } from '../../src/outbox/outbox.ts'
import {
  afterLostLease,
  afterNewerCode,
  afterReport,
  afterSettlement,
  answerForDuplicate,
  appendToTimeline,
  checkBacklog,
  claimOrder,
  isLive,
  judgeDuplicate,
  LOST_LEASE_PAUSE_MS,
  providerOfCopy,
  REFUNDED,
  readinessOf,
  stateAtAcceptance,
  stateAtClaim,
  stateAtEnd,
  stateAtExpiry,
  storeRecord,
} from '../../src/outbox/rules.ts'
import { NOON } from './samples.ts'
import { TRANSITIONS } from './transitions.ts'

const STATES: readonly State[] = [...LIVE_STATES, ...FINAL_STATES]
const page = await readFile(new URL('../../docs/durability.md', import.meta.url), 'utf8')

t.test('the diagram in the docs draws the transitions of the code, all of them and no other', t => {
  const drawn = [...page.matchAll(/^ {4}(\S+) --> (\S+): (.+)$/gm)].map(([, from, to, when]) => ({
    from: from === '[*]' ? 'new' : from,
    to,
    when,
  }))
  t.same(drawn, TRANSITIONS)
  const ends = [...page.matchAll(/^ {4}(\S+) --> \[\*\]$/gm)].map(([, from = '']) => from)
  t.same(ends.toSorted(), [...FINAL_STATES].toSorted())
  t.end()
})

t.test('the table of states names each, and whether its quota is given back', t => {
  for (const state of STATES) {
    const [, counted = ''] = new RegExp(`^\\| \`${state}\` \\|.*\\| (.+) \\|$`, 'm').exec(page) ?? []
    t.equal(counted === 'given back', REFUNDED.has(state), `${state}: ${counted}`)
  }
  t.end()
})

t.test('nothing leaves a final state, and every state is reached', t => {
  for (const state of FINAL_STATES) t.notOk(TRANSITIONS.some(({ from }) => from === state))
  for (const state of STATES) t.ok(TRANSITIONS.some(({ to }) => to === state))
  t.end()
})

t.test('what the rules make of a message that is being sent is in the table, and all of that happens', t => {
  const reached = new Set<State>()
  for (const ambiguous of [0, 1]) {
    for (const outdated of [false, true]) {
      for (const dueAt of [1000, 5000]) {
        const tried = { attempts: 2, ambiguous, expiresAt: 5000 }
        for (const more of [{}, { ambiguous: 1 }, { uncounted: true }]) {
          reached.add(afterSettlement(tried, { to: 'queued', dueAt, ...more }, outdated).state)
        }
        for (const begun of [false, true])
          reached.add(afterLostLease({ ...tried, begun }, dueAt, outdated).state)
      }
    }
  }
  for (const state of FINAL_STATES) {
    reached.add(
      afterSettlement(
        { attempts: 1, ambiguous: 0, expiresAt: 5000 },
        { to: 'final', state, answer: null },
        false,
      ).state,
    )
  }
  const allowed = TRANSITIONS.filter(({ from }) => from === 'sending').map(({ to }) => to)
  t.same([...reached].toSorted(), allowed.toSorted())
  t.end()
})

t.test('coming back for a retry: the order of the reasons', t => {
  const back = (ambiguous: number, outdated: boolean, dueAt: number) =>
    afterSettlement(
      { attempts: 3, ambiguous, expiresAt: 5000 },
      { to: 'queued', dueAt, ambiguous: ambiguous + 1 },
      outdated,
    )
  t.match(
    back(1, false, 4999),
    { state: 'queued', ambiguous: 2 },
    'how many copies may go out is not the store’s to say',
  )
  t.match(back(0, true, 9000), { state: 'superseded' })
  t.match(back(0, false, 5000), { state: 'unknown', ambiguous: 1 })
  t.match(back(0, false, 4999), { state: 'queued', ambiguous: 1, dueAt: 4999, attempts: 3 })
  const calm = { attempts: 3, ambiguous: 0, expiresAt: 5000 }
  t.match(afterSettlement(calm, { to: 'queued', dueAt: 5000 }, false), { state: 'expired' })
  t.match(afterSettlement(calm, { to: 'queued', dueAt: 1, uncounted: true }, false), {
    state: 'queued',
    attempts: 2,
  })
  t.end()
})

t.test('the beginning, a claim and an end outside an attempt', t => {
  t.same(stateAtAcceptance(undefined, 7), {
    state: 'queued',
    answer: null,
    attempts: 0,
    ambiguous: 0,
    dueAt: 7,
  })
  const handed = { state: 'sending', answer: null, attempts: 1, ambiguous: 0, dueAt: null }
  t.same(stateAtAcceptance({ token: 'a', until: 9 }, 7), handed)
  t.same(stateAtClaim({ attempts: 2, ambiguous: 1 }), { ...handed, attempts: 3, ambiguous: 1 })
  const ended = { answer: null, attempts: 2, ambiguous: 1, dueAt: null }
  t.same(stateAtEnd({ attempts: 2, ambiguous: 1 }, 'expired'), { ...ended, state: 'expired' })
  t.same(stateAtEnd({ attempts: 2, ambiguous: 1 }, 'refused', 'content'), {
    ...ended,
    state: 'refused',
    answer: 'content',
  })
  t.equal(stateAtExpiry(0), 'expired')
  t.equal(stateAtExpiry(1), 'unknown')
  for (const state of LIVE_STATES) t.equal(isLive(state), true)
  for (const state of FINAL_STATES) t.equal(isLive(state), false)
  t.end()
})

t.test('only a queued message is ready: at once when it is due, else later', t => {
  t.equal(readinessOf({ state: 'queued', dueAt: 7 }, 7), 1)
  t.equal(readinessOf({ state: 'queued', dueAt: 8 }, 7), 0)
  t.equal(readinessOf({ state: 'queued', dueAt: null }, 7), 1)
  t.equal(readinessOf({ state: 'sending', dueAt: null }, 7), null)
  t.equal(readinessOf({ state: 'sent', dueAt: 7 }, 7), null)
  t.end()
})

t.test('the lines that the store itself writes into a timeline', t => {
  const line = { at: 7, tookMs: 0, provider: '', reply: '' }
  t.same(storeRecord('lease-lost', 7), { ...line, outcome: 'lease-lost', code: 'LEASE' })
  t.same(storeRecord('cancelled', 7), { ...line, outcome: 'cancelled', code: 'CANCELLED' })
  t.same(storeRecord('unreadable', 7), {
    ...line,
    outcome: 'rejected',
    code: 'UNREADABLE',
    reply: 'the stored content cannot be read',
  })
  t.end()
})

t.test('a timeline: a carrier that is passed by again for the same reason has one line for it', t => {
  const line = (at: number, outcome: string, provider: string, code = 'OPEN') => {
    return { at, tookMs: 0, provider, outcome, code, reply: '' }
  }
  const before = [
    line(1, 'skipped', 'a'),
    line(2, 'retry', 'b'),
    line(3, 'skipped', 'a'),
    line(3, 'skipped', 'b'),
    line(3, 'skipped', 'a', 'LIMIT'),
  ]
  const at = (lines: readonly { readonly at: number }[]) => lines.map(each => each.at)
  t.same(at(appendToTimeline(before, [line(4, 'skipped', 'a')])), [1, 2, 3, 3, 4], 'the latest')
  t.same(at(appendToTimeline(before, [line(4, 'retry', 'a')])), [1, 2, 3, 3, 3, 4])
  t.same(at(appendToTimeline(before.slice(0, 2), [line(4, 'skipped', 'a')])), [1, 2, 4], 'it was asked since')
  t.same(at(appendToTimeline([line(1, 'retry', 'a')], [line(4, 'skipped', 'a')])), [1, 4])
  const copy = line(0, 'ambiguous', 'a')
  const many = Array.from({ length: 20 }, (_, n) => line(n + 1, 'retry', 'b'))
  t.same(at(appendToTimeline([copy], many)), [0, ...at(many.slice(1))], 'what may have been sent stays')
  t.same(at(appendToTimeline([line(0, 'retry', 'a')], many)), at(many))
  t.equal(providerOfCopy([copy, line(1, 'lease-lost', 'b'), line(2, 'sent', 'c')]), 'b', 'the latest copy')
  t.equal(providerOfCopy([copy, line(1, 'sent', 'c')]), 'a')
  t.equal(providerOfCopy([line(1, 'sent', 'c')]), '')
  t.end()
})

const duplicate = {
  id: 'first',
  state: 'sent',
  answer: null,
  finalAt: NOON,
  expiresAt: NOON + 600_000,
} as const

t.test('a duplicate: what each state of it means, and what is answered for it', t => {
  const judge = (more: object, now = NOON) => {
    const it = { ...duplicate, ...more }
    const verdict = judgeDuplicate(it, now)
    return [verdict, answerForDuplicate(it, verdict)]
  }
  const joined = { is: 'in-progress', id: 'first' }
  const same = (state: State, answer: string | null = null) => ({
    is: 'finished',
    id: 'first',
    state,
    answer,
  })
  const over = NOON + 600_000
  const live = { finalAt: null }
  t.same(judge({ ...live, state: 'sending' }, over + 1), ['live', joined], 'whatever its life')
  t.same(judge({ ...live, state: 'queued' }, over - 1), ['live', joined])
  t.same(judge({ ...live, state: 'queued' }, over), ['outlived', null])
  t.same(judge({}, NOON + 45_000), ['recent', same('sent')])
  t.same(judge({}, NOON + 45_001), ['past', null])
  t.same(judge({ state: 'refused', answer: 'recipient' }), ['recent', same('refused', 'recipient')])
  t.same(judge({ state: 'superseded' }, over - 1), ['recent', same('superseded')], 'as long as it lives')
  t.same(judge({ state: 'superseded' }, over), ['past', null])
  t.same(judge({ state: 'expired' }), ['past', null], 'what expired unsent suppresses nothing')
  t.same(judge({ state: 'unknown' }), ['recent', same('unknown')], 'it may have arrived')
  t.equal(judgeDuplicate(duplicate, NOON + 90_000, 90_000), 'recent', 'a window of its own')
  t.end()
})

t.test('a duplicate: a clock that was set back an hour swallows nothing', t => {
  t.equal(judgeDuplicate(duplicate, NOON - 1000), 'recent', 'replicas’ clocks differ a little')
  t.equal(judgeDuplicate(duplicate, NOON - 3_600_000), 'past')
  t.end()
})

t.test('a newer code ends an older one that waits, and leaves one that is being sent its attempt', t => {
  t.equal(afterNewerCode('queued'), 'superseded')
  t.equal(afterNewerCode('sending'), 'outdated')
  for (const state of FINAL_STATES) t.equal(afterNewerCode(state), null)
  t.end()
})

t.test('a full backlog: the last place is given, and what stores nothing needs none', t => {
  t.equal(checkBacklog(2, 1, 3), null)
  t.ok(checkBacklog(2, 2, 3) instanceof BacklogFull)
  t.ok(checkBacklog(3, 1, 3) instanceof BacklogFull)
  t.equal(checkBacklog(5, 0, 3), null)
  t.end()
})

t.test('a lost lease: what had begun may have been sent, what had not was surely not', t => {
  const claimed = { attempts: 2, ambiguous: 0, expiresAt: 100_000 }
  t.match(afterLostLease({ ...claimed, begun: true }, 1000, false), {
    state: 'queued',
    attempts: 2,
    ambiguous: 1,
    dueAt: 1000 + LOST_LEASE_PAUSE_MS,
  })
  t.match(afterLostLease({ ...claimed, begun: false }, 1000, false), {
    state: 'queued',
    attempts: 1,
    ambiguous: 0,
    dueAt: 1000,
  })
  t.match(afterLostLease({ ...claimed, begun: true }, 99_000, false), { state: 'unknown' })
  t.match(afterLostLease({ ...claimed, begun: false }, 100_000, false), { state: 'expired' })
  t.end()
})

t.test('a delivery report makes sent what may have been, and nothing else', t => {
  for (const state of STATES)
    for (const ambiguous of [0, 1, 4]) {
      const next = afterReport(state, { attempts: 5, ambiguous })
      if (state === 'queued' && ambiguous > 0)
        t.same(next, { state: 'sent', answer: null, attempts: 5, ambiguous, dueAt: null })
      else t.equal(next, null)
    }
  const reported = { attempts: 2, ambiguous: 0, expiresAt: 100_000, reported: true }
  const retry = { to: 'queued', dueAt: 1000 } as const
  t.match(afterSettlement(reported, { ...retry, ambiguous: 1 }, true), { state: 'sent' }, 'newer code or not')
  t.match(afterSettlement(reported, { ...retry, dueAt: 100_000, ambiguous: 1 }, false), { state: 'sent' })
  t.match(afterSettlement(reported, retry, false), { state: 'queued' })
  t.match(afterSettlement(reported, { to: 'final', state: 'unknown', answer: null }, false), {
    state: 'sent',
  })
  t.match(afterSettlement(reported, { to: 'final', state: 'refused', answer: 'recipient' }, false), {
    state: 'refused',
  })
  t.match(afterLostLease({ ...reported, begun: true }, 0, false), { state: 'sent' })
  t.match(afterLostLease({ ...reported, begun: false }, 0, false), { state: 'queued' })
  t.end()
})

t.test('first come, first served, until the first has waited a second; then newest first', t => {
  for (const waited of [-5, 0, 999]) t.equal(claimOrder(5000, 5000 + waited), 'oldest-first')
  for (const waited of [1000, 60_000]) t.equal(claimOrder(5000, 5000 + waited), 'newest-first')
  t.end()
})
