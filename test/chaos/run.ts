import { parseArgs } from 'node:util'
import { noPostgres } from '../rigs/postgres.ts'
import { type Blow, runChaos } from './chaos.ts'
import { runCrashes } from './crashes.ts'
import { printFindings, printJudgement } from './report.ts'

const USAGE = `npm run test:crash -- [--loops 50]

Kills a service on SQLite (SIGKILL) at a random moment under load, starts it again on the same store, and so on; then lets
it finish. Joins what was answered with what arrived and what the store says. Ends with 1 when a message that was answered
0 is lost or unknown, when a copy came without an ambiguous attempt on record, or when an attempt is on record that was
not under way at the kill.

npm run test:chaos -- [--seconds 300]

Three replicas on a Postgres of their own under load: one is killed, one is stopped for longer than it may be silent and
goes on, one is replaced, the database loses its power; over and over. Then lets them finish, and joins what was answered
with what arrived and what the store says. Ends with 1 when a message that was answered 0 is lost, when one came twice
without an ambiguous attempt on record, or came more than twice.`

/** What happens within a minute; the replicas take turns. */
const ROUND_SECONDS = 60

const { values } = parseArgs({
  options: {
    crash: { type: 'boolean', default: false },
    loops: { type: 'string', default: '50' },
    seconds: { type: 'string', default: '300' },
    help: { type: 'boolean', default: false },
  },
})
const say = (line: string): void => void process.stdout.write(`${line}\n`)

function blowsWithin(seconds: number): readonly Blow[] {
  const blows: Blow[] = []
  for (let round = 0; round * ROUND_SECONDS < seconds; round += 1) {
    const from = round * ROUND_SECONDS
    const [one, two, three] = [0, 1, 2].map(each => (each + round) % 3)
    blows.push(
      { at: from + 5, is: 'kill', replica: one ?? 0 },
      { at: from + 10, is: 'stop', replica: two ?? 0, seconds: 25 },
      { at: from + 40, is: 'crash' },
      { at: from + 48, is: 'replace', replica: three ?? 0 },
      { at: from + 52, is: 'kill', replica: two ?? 0 },
    )
  }
  return blows.filter(blow => blow.at + (blow.is === 'stop' ? blow.seconds : 0) < seconds)
}

if (values.help) {
  say(USAGE)
  process.exit(0)
}
if (values.crash) {
  const found = await runCrashes(Number(values.loops), Math.random, say)
  const loops = `${values.loops}, ${found.early} of them killed while starting; ${found.begun} messages were being sent at the kills`
  printJudgement(found, { loops }, say)
  process.exit(found.lost + found.unknown + found.breaches.length > 0 ? 1 : 0)
}
if (noPostgres !== false) {
  say(noPostgres)
  process.exit(1)
}
const seconds = Number(values.seconds)
const findings = await runChaos({ seconds, blows: blowsWithin(seconds), random: Math.random, say })
printFindings(findings, say)
const { lost, breaches, faults } = findings
process.exit(lost + breaches.length + faults.length > 0 ? 1 : 0)
