import { readFile } from 'node:fs/promises'
import t from 'tap'
import { type State } from '../../src/outbox/outbox.ts'
import { afterLostLease, afterSettlement, appendToTimeline, REFUNDED } from '../../src/outbox/rules.ts'
import { FINAL_STATES } from './samples.ts'

const LIVE_STATES = ['queued', 'sending'] as const
const STATES: readonly State[] = [...LIVE_STATES, ...FINAL_STATES]
const page = await readFile(new URL('../../docs/durability.md', import.meta.url), 'utf8')

/** The changes of state that the diagram of the docs draws. */
const TRANSITIONS = [...page.matchAll(/^ {4}(\S+) --> (\w+): .+$/gm)].map(([, from = '', to = '']) => ({
  from,
  to,
}))

t.test('the table of states names each, and whether its quota is given back', async t => {
  for (const state of STATES) {
    const [, counted = ''] = new RegExp(`^\\| \`${state}\` \\|.*\\| (.+) \\|$`, 'm').exec(page) ?? []
    t.equal(counted === 'given back', REFUNDED.has(state), `${state}: ${counted}`)
  }
})

t.test('nothing leaves a final state, and every state is reached', async t => {
  for (const state of FINAL_STATES) t.notOk(TRANSITIONS.some(({ from }) => from === state))
  for (const state of STATES) t.ok(TRANSITIONS.some(({ to }) => to === state))
})

t.test(
  'what the rules make of a message that is being sent is in the table, and all of that happens',
  async t => {
    const reached = new Set<State>()
    for (const ambiguous of [0, 1]) {
      for (const outdated of [false, true]) {
        for (const dueAt of [1000, 5000]) {
          const tried = { channel: 'email', attempts: 2, ambiguous, expiresAt: 5000 } as const
          for (const more of [{}, { ambiguous: 1 }, { uncounted: true }]) {
            reached.add(afterSettlement(tried, { to: 'queued', dueAt, ...more }, outdated).state)
          }
          for (const begun of [false, true])
            reached.add(afterLostLease({ ...tried, begun }, dueAt, outdated).state)
        }
      }
    }
    const begun = { channel: 'email', attempts: 2, ambiguous: 1, expiresAt: 5000 } as const
    for (const state of FINAL_STATES) {
      const end = { to: 'final', state, answer: null } as const
      reached.add(afterSettlement({ ...begun, ambiguous: 0 }, end, false).state)
    }
    const allowed = TRANSITIONS.filter(({ from }) => from === 'sending').map(({ to }) => to)
    t.same(reached, new Set(allowed))
  },
)

t.test('a timeline: a carrier that is passed by again for the same reason has one line for it', async t => {
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
})
