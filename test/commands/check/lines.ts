import type { CheckResult } from '../../../src/commands/check/finding.ts'

/** Findings as a person reads them, a line each. */
export function linesOf(findings: readonly CheckResult[]): readonly string[] {
  return findings.map(
    ({ is, about, what, next }) => `${is} ${about}: ${what}${next === undefined ? '' : ` → ${next}`}`,
  )
}
