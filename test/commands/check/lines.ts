import type { MachineLimits } from '../../../src/commands/check/machine.ts'
import type { CheckResult } from '../../../src/runtime/check-result.ts'

/** Findings as a person reads them, a line each. */
export function linesOf(findings: readonly CheckResult[]): readonly string[] {
  return findings.map(
    ({ is, about, what, next }) =>
      `${is} ${String(about)}: ${String(what)}${next === undefined ? '' : ` → ${String(next)}`}`,
  )
}

/** Plenty of everything. */
export const plenty: MachineLimits = {
  freeBytes: () => 50_000_000_000,
  openFiles: () => 1_048_576,
  mode: () => null,
  passingFileSystem: () => null,
}
