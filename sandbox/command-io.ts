import { once } from 'node:events'
import type { Io } from '../src/commands/command.ts'

/** The environment of the command lines of sandbox and emulator; `signal` ends them. */
export type CommandIo = Pick<Io, 'stdout' | 'stderr'> & { readonly signal: AbortSignal }

/** Resolves once the signal is aborted. */
export async function waitForAbort(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

/** Pairs of a name and a value as the lines of a table without borders. */
export function formatPairs(pairs: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length))
  return pairs.map(([name, value]) => `  ${name.padEnd(width)}  ${value}\n`).join('')
}
