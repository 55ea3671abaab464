import t from 'tap'
import { noPostgres } from '../rigs/postgres.ts'
import { runChaos } from './chaos.ts'

t.test(
  'three replicas, one killed, one stopped for long, and their database crashed: nothing is lost',
  { skip: noPostgres },
  async t => {
    const { breaches, faults, ...found } = await runChaos({
      seconds: 26,
      blows: [
        { at: 2, is: 'kill', replica: 0 },
        { at: 3, is: 'stop', replica: 1, seconds: 17 },
        { at: 12, is: 'replace', replica: 2 },
        { at: 21, is: 'crash' },
      ],
      random: Math.random,
      say: line => t.comment(line),
      callers: { email: 6, sms: 3 },
    })
    t.same(breaches, [])
    t.same(faults, [])
    t.equal(found.lost, 0)
    t.equal(found.delivered + found.unknownNotArrived, found.answered)
    t.ok(found.answered > 50, `${found.answered} answered`)
    t.ok(found.lapses >= 1, 'the one that was stopped noticed it')
    t.ok((found.waits.at(-1) ?? 0) < 60_000, `nobody waited longer than ${found.waits.at(-1)} ms`)
    t.equal(found.ownersLeft, found.kills, 'the others left in order')
    t.comment(`duplicated ${found.duplicated}, ambiguous ${found.ambiguous}, taken over ${found.takenOver}`)
  },
)
