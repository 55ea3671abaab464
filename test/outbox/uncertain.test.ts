import t from 'tap'
import { createUncertainCommits } from '../../src/outbox/postgres/uncertain.ts'

t.test('a commit that was given up is remembered until its lease would have run out', async t => {
  let now = 0
  const { begin, confirm, giveUp, givenUp } = createUncertainCommits(() => now)
  begin('lost', 1000)
  begin('confirmed', 1000)
  t.same(givenUp(), [])
  now = 400
  begin('later', 1000)
  confirm('confirmed')
  for (const token of ['lost', 'confirmed', 'later', 'of nobody']) giveUp(token)
  t.same(givenUp(), ['lost', 'later'])
  now = 1000
  t.same(givenUp(), ['lost', 'later'])
  now = 1001
  t.same(givenUp(), ['later'])
  now = 1401
  t.same(givenUp(), [])
})
