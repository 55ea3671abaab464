import type { Judgement } from '../faults/checker.ts'

/** One life of the service. */
export interface Run {
  /** Killed before it listened. */
  readonly early: boolean
  /** Ids of the messages that were being sent when it was killed. */
  readonly begun: readonly string[]
}

export function printTotal(
  runs: readonly Run[],
  judgement: Judgement,
  seconds: number,
  say: (line: string) => void,
): void {
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
