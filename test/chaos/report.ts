import type { Judgement } from '../faults/checker.ts'
import type { Answered } from '../faults/driver.ts'
import type { Findings } from './chaos.ts'

interface Judged extends Judgement {
  /** Callbacks that were posted, answers of every kind and none included. */
  readonly posts: readonly Answered[]
}

/** Says what came out of a run. @param own what only runs of this kind find, by its name. */
export function printJudgement(
  found: Judged,
  own: Readonly<Record<string, string>>,
  say: (line: string) => void,
): void {
  const answers = found.posts
    .filter(post => post.status !== undefined)
    .map(post => post.answeredAt - post.askedAt)
    .toSorted((a, b) => a - b)
  const lines = {
    posted: `${found.posts.length} callbacks; 503 ${found.refused}, no answer ${found.unanswered}`,
    'answered 0': `${found.answered} messages`,
    delivered: `${found.delivered}`,
    lost: `${found.lost}`,
    duplicated: `${found.duplicated}, ${found.copies} copies, each with an ambiguous attempt on record, unless said below`,
    ambiguous: `${found.ambiguous}; ${found.unknown} ended unknown, ${found.unknownNotArrived} of those did not arrive`,
    'answer time': quantiles(answers),
    states: JSON.stringify(found.states),
    ...own,
  }
  say('')
  for (const [name, line] of Object.entries(lines)) say(`${name.padEnd(12)} ${line}`)
  for (const breach of found.breaches.slice(0, 50)) say(`BREACH       ${breach}`)
  if (found.breaches.length > 50) say(`BREACH       and ${found.breaches.length - 50} more`)
}

export function printFindings(found: Findings, say: (line: string) => void): void {
  const own = {
    twins: `${found.twins} callbacks were given to two replicas at once`,
    'taken over': `${found.takenOver} from processes that were gone; ${found.lapses} came back too late`,
    waited: `from post to arrival: ${quantiles(found.waits)}`,
    starts: `${found.starts}; ${found.kills} killed, ${found.ownersLeft} on the store's books as such`,
    faults: found.faults.slice(0, 20).join('\n'),
  }
  printJudgement(found, own, say)
}

function quantiles(sorted: readonly number[]): string {
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${sorted.at(-1) ?? 0} ms`
}
