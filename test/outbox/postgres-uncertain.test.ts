import t from 'tap'
import { createUncertainCommits } from '../../src/outbox/postgres/uncertain.ts'

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
