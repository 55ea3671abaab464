import t from 'tap'
import { noPostgres } from '../rigs/postgres.ts'
import { type Blow, runChaos } from './chaos.ts'
import { printFindings } from './report.ts'

const MINUTES = Number(process.env['CHAOS_MINUTES'] ?? 30)
const PER_SECOND = 300
const THINK_MS = 1000
/** Callers that ask that often, an answer and a pause each: two of three for mails. */
const CALLERS = { email: 260, sms: 130 }
/** Messages that come a minute which are old enough to be removed. */
const OLD_ROWS = 20_000

function blowsWithin(seconds: number): readonly Blow[] {
  const blows: Blow[] = []
  for (let minute = 0; minute * 60 < seconds; minute += 1) {
    blows.push({ at: minute * 60 + 5, is: 'history', rows: OLD_ROWS })
    if (minute % 2 === 0) blows.push({ at: minute * 60 + 30, is: 'kill', replica: (minute / 2) % 3 })
    if (minute % 5 === 0)
      blows.push({ at: minute * 60 + 10, is: 'snapshot', seconds: Math.min(150, seconds - minute * 60 - 20) })
  }
  return blows
}

t.test(
  'half an hour at 300 a second, with what is old removed, backups under way and a replica killed every two minutes',
  { skip: noPostgres, timeout: (MINUTES + 15) * 60_000 },
  async t => {
    const seconds = MINUTES * 60
    const findings = await runChaos({
      seconds,
      blows: blowsWithin(seconds),
      random: Math.random,
      say: line => t.comment(line),
      callers: CALLERS,
      thinkMs: THINK_MS,
      settings: { RETENTION_DAYS: '1' },
    })
    printFindings(findings, line => t.comment(line))
    t.same(findings.breaches, [])
    t.same(findings.faults, [])
    t.equal(findings.lost, 0)
    t.equal(findings.delivered + findings.unknownNotArrived, findings.answered)
    // A machine that has other work as well answers later, and is asked less.
    t.ok(findings.answered > 0.5 * PER_SECOND * seconds, `${findings.answered} answered`)
    t.equal(findings.old, 0, 'what was old is removed')
  },
)
