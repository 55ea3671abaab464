import { type ParseArgsConfig, parseArgs } from 'node:util'

/** The parts of the process that a command may use. */
export interface Io {
  readonly stdout: { write(text: string): unknown }
  readonly stderr: { write(text: string): unknown }
  readonly env: Readonly<Record<string, string | undefined>>
  /** Reads a text file; throws as node:fs does. */
  readonly readFile: (path: string) => string
  readonly dotenvPath: string
  /** Aborts when the command is to end early. */
  readonly signal?: AbortSignal
}

/** 0: success; 1: failure; 2: a wrong command line. */
export type ExitCode = 0 | 1 | 2

export interface Command {
  /** The text that `--help` prints. */
  readonly usage: string
  /** @throws UsageError, ConfigError: `runCommand` prints either. */
  run(argv: readonly string[], io: Io): Promise<number>
}

/** A wrong command line: its message says what is wrong, and is printed below the usage. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Reads a command's arguments strictly. @throws UsageError for an unknown option or one without its value. */
export function readArguments<T extends NonNullable<ParseArgsConfig['options']>>(
  argv: readonly string[],
  options: T,
  positionals: { readonly least: number; readonly most: number } = { least: 0, most: 0 },
) {
  try {
    const parsed = parseArgs({ args: [...argv], options, allowPositionals: true, strict: true })
    const count = parsed.positionals.length
    if (count < positionals.least) throw new UsageError('something is missing')
    if (count > positionals.most) throw new UsageError(`what is "${parsed.positionals[positionals.most]}"?`)
    return parsed
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new UsageError(error.message)
  }
}
