import { readFile } from 'node:fs/promises'
import t from 'tap'
import { FINAL_STATES, LIVE_STATES, type State } from '../../src/outbox/outbox.ts'
import { afterLostLease, afterSettlement, refundsQuota, TRANSITIONS } from '../../src/outbox/rules.ts'

const STATES: readonly State[] = [...LIVE_STATES, ...FINAL_STATES]
const page = await readFile(new URL('../../docs/states.md', import.meta.url), 'utf8')

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
    t.equal(counted === 'given back', refundsQuota(state), `${state}: ${counted}`)
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
        for (const more of [{}, { ambiguous: true }, { uncounted: true }]) {
          reached.add(afterSettlement(tried, { to: 'queued', dueAt, ...more }, outdated).state)
        }
        reached.add(afterLostLease(tried, dueAt, outdated).state)
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
      { to: 'queued', dueAt, ambiguous: true },
      outdated,
    )
  t.match(back(1, true, 9000), { state: 'unknown', ambiguous: 2, dueAt: null })
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
