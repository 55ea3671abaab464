import t from 'tap'
import type { SettledByStore } from '../../src/outbox/outbox.ts'
import type { Client } from '../../src/outbox/postgres/connect.ts'
import { createUncertainCommits, createUnreportedEnds } from '../../src/outbox/postgres/uncertain.ts'

t.test(
  'what was given up is known by its token, or by how it begins, while its lease would last',
  async t => {
    let at = 0
    const commits = createUncertainCommits(() => at)
    commits.giveUp('never.begun')
    commits.begin('a.0.1', 1000)
    commits.confirm('a.0.1')
    commits.giveUp('a.0.1')
    t.equal(commits.areGivenUp(), false, 'neither was under way')
    commits.begin('a.0.2', 1000)
    commits.giveUp('a.0.2')
    t.equal(commits.areGivenUp(), true)
    const tokens = ['a.0.1', 'a.0.2', 'a.0.2.7', 'a.0.21', 'a.0.3.1']
    t.same(commits.findGivenUp(tokens), ['a.0.2', 'a.0.2.7'])
    at = 1000
    commits.begin('a.0.3', 500)
    commits.giveUp('a.0.3')
    t.equal(commits.areGivenUp(), true)
    t.same(commits.findGivenUp(tokens), ['a.0.2', 'a.0.2.7', 'a.0.3.1'])
    at = 1001
    t.equal(commits.areGivenUp(), true)
    t.same(commits.findGivenUp(tokens), ['a.0.3.1'], 'the first one would have run out')
    at = 1501
    t.equal(commits.areGivenUp(), false)
  },
)

t.test('an end is reported once, when its commit is sure or was found', async t => {
  let at = 0
  let rows: readonly (SettledByStore & { readonly final_at: number })[] = []
  const asked: (readonly unknown[])[] = []
  const client = {
    connection: { stream: { writableCorked: 1 } },
    async query({ values }: { readonly values: readonly unknown[] }) {
      asked.push(values)
      return { rows }
    },
  } as unknown as Client
  const ends = createUnreportedEnds(() => at)
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(id => {
    const channel = id === 'd' ? 'sms' : 'email'
    return { id, state: 'expired', channel, kind: 'login-code' } as const
  }) as [SettledByStore, SettledByStore, SettledByStore, SettledByStore]
  ends.begin([b, c], 7)
  ends.begin([a, d], 5)
  t.same(ends.take('email'), [], 'nothing is sure')
  ends.confirm([a])
  t.same([ends.take('email'), ends.take('email')], [[a], []])
  rows = [
    { ...b, final_at: 7 },
    { ...c, final_at: 8 },
  ]
  await ends.find(client)
  t.same(asked, [[['b', 'c', 'd'], 5]], 'those that are uncertain, from the first of their times on')
  t.same(ends.take('email'), [b], 'the other one was ended by another process')
  ends.confirm([b, c])
  t.same(ends.take('email'), [], 'not again')
  at = 600_000
  await ends.find(client)
  t.same(asked.slice(1), [[['d'], 5]])
  ends.begin([d], 5)
  at = 1_200_000
  await ends.find(client)
  at += 1
  await ends.find(client)
  t.equal(asked.length, 3, 'what is not seen by then never happened')
  t.same(ends.take('sms'), [])
})
