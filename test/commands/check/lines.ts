import type { CheckResult } from '../../../src/runtime/check-result.ts'

/** Findings as a person reads them, a line each. */
export function linesOf(findings: readonly CheckResult[]): readonly string[] {
  return findings.map(
    ({ is, about, what, next }) =>
      `${is} ${String(about)}: ${String(what)}${next === undefined ? '' : ` → ${String(next)}`}`,
  )
}
