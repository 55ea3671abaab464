import { pino } from 'pino'
import { checkStore, type MachineLimits } from '../../../src/commands/check/machine.ts'
import type { Config } from '../../../src/config/config.ts'
import type { CheckResult } from '../../../src/runtime/check-result.ts'
import { createClock } from '../../../src/runtime/clock.ts'
import { openOutbox, openStoreKeys } from '../../../src/service/factories.ts'

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

/** What is said of a store beside a service that runs. */
export async function linesOfStore(config: Config): Promise<readonly string[]> {
  const log = pino({ level: 'silent' })
  const open = async () => openOutbox(config, createClock(), await openStoreKeys(config), log)
  return linesOf(await checkStore(config, open, null))
}
