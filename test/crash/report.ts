import type { JudgedMessage, Judgement } from '../faults/checker.ts'
import type { Answered } from '../faults/driver.ts'

/** One life of the service. */
export interface Run {
  readonly loop: number
  /** Killed before it listened. */
  readonly early: boolean
  /** From its start to its death, ms. */
  readonly upMs: number
  readonly answers: readonly Answered[]
  /** Ids of the messages that were being sent when it was killed. */
  readonly begun: readonly string[]
}

type Say = (line: string) => void

const COLUMNS = [
  'run',
  'seconds',
  'answered',
  'unanswered',
  'delivered',
  'lost',
  'duplicated',
  'ambiguous',
  'unknown',
  'in flight',
] as const

/** A line for each run: what became of the messages that were first posted in it. */
export function printRuns(runs: readonly Run[], judgement: Judgement, say: Say): void {
  const runOf = new Map<Answered, number>()
  for (const run of runs) for (const answered of run.answers) runOf.set(answered, run.loop)
  const messages = new Map<number, JudgedMessage[]>()
  for (const message of judgement.messages) {
    const loop = runOf.get(message.posts[0] as Answered) ?? 0
    messages.set(loop, [...(messages.get(loop) ?? []), message])
  }
  say(COLUMNS.map(pad).join(''))
  for (const run of runs) {
    const own = messages.get(run.loop) ?? []
    const count = (is: (message: JudgedMessage) => boolean) => own.filter(is).length
    const cells = [
      run.loop,
      (run.upMs / 1000).toFixed(2),
      count(each => each.promised),
      run.answers.filter(each => each.status === undefined).length,
      count(each => each.promised && each.copies > 0),
      count(each => each.lost),
      count(each => each.copies > 1),
      count(each => (each.row?.ambiguous ?? 0) > 0),
      count(each => each.row?.state === 'unknown'),
      run.begun.length,
    ]
    say(cells.map(cell => pad(String(cell))).join('') + (run.early ? '  killed while it started' : ''))
  }
}

export function printTotal(runs: readonly Run[], judgement: Judgement, seconds: number, say: Say): void {
  const { answered, delivered, lost, duplicated, copies, ambiguous, unknown, unknownNotArrived, breaches } =
    judgement
  say('')
  say(`loops       ${runs.length}, ${runs.filter(each => each.early).length} of them killed while starting`)
  say(`answered 0  ${answered}`)
  say(`delivered   ${delivered}`)
  say(`lost        ${lost}`)
  say(`unknown     ${unknown}, ${unknownNotArrived} of them did not arrive`)
  say(`duplicated  ${duplicated}, each with an ambiguous attempt on record, unless said below`)
  say(
    `copies      ${copies} beyond the first; ${runs.flatMap(run => run.begun).length} messages were being sent at the kills`,
  )
  say(`ambiguous   ${ambiguous}`)
  say(`no answer   ${judgement.unanswered} callbacks; refused ${judgement.refused}`)
  say(`states      ${JSON.stringify(judgement.states)}`)
  say(`took        ${seconds.toFixed(1)} s, ${(seconds / runs.length).toFixed(2)} s a loop`)
  for (const breach of breaches.slice(0, 50)) say(`BREACH      ${breach}`)
  if (breaches.length > 50) say(`BREACH      and ${breaches.length - 50} more`)
}

function pad(text: string): string {
  return text.padStart(11)
}
