import type { Findings } from './chaos.ts'

export function printFindings(findings: Findings, say: (line: string) => void): void {
  const { answered, delivered, lost, duplicated, ambiguous, unknown, unknownNotArrived, waits } = findings
  const answers = findings.posts
    .filter(post => post.status !== undefined)
    .map(post => post.answeredAt - post.askedAt)
    .toSorted((a, b) => a - b)
  say('')
  say(`posted       ${findings.posts.length} callbacks, ${findings.twins} of them to two replicas at once`)
  say(
    `answered 0   ${answered} messages; 503 ${findings.refused}, no answer ${findings.unanswered} callbacks`,
  )
  say(`delivered    ${delivered}`)
  say(`lost         ${lost}`)
  say(`duplicated   ${duplicated}, each with an ambiguous attempt on record, unless said below`)
  say(`ambiguous    ${ambiguous}; ${unknown} ended unknown, ${unknownNotArrived} of those did not arrive`)
  say(
    `taken over   ${findings.takenOver} from processes that were gone; ${findings.lapses} came back too late`,
  )
  say(`waited       from post to arrival: ${quantiles(waits)}`)
  say(`answer time  ${quantiles(answers)}`)
  say(
    `starts       ${findings.starts}; ${findings.kills} killed, ${findings.ownersLeft} on the store's books as such`,
  )
  say(`states       ${JSON.stringify(findings.states)}`)
  for (const fault of findings.faults.slice(0, 20)) say(`FAULT        ${fault}`)
  for (const breach of findings.breaches.slice(0, 50)) say(`BREACH       ${breach}`)
  if (findings.breaches.length > 50) say(`BREACH       and ${findings.breaches.length - 50} more`)
}

function quantiles(sorted: readonly number[]): string {
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${sorted.at(-1) ?? 0} ms`
}
