import { type ParseArgsConfig, parseArgs } from 'node:util'
import { languageOfTerminal } from '../language/choose.ts'
import { type Sentence, say } from '../language/sentence.ts'

/** The parts of the process that a command may use. */
export interface Io {
  readonly stdout: { write(text: string): unknown }
  readonly stderr: { write(text: string): unknown }
  readonly env: Readonly<Record<string, string | undefined>>
  /** Reads a text file; throws as node:fs does. */
  readonly readFile: (path: string) => string
  readonly dotenvPath: string
  /** Puts all dates of the process into a time zone. */
  readonly setZone?: (zone: string) => void
  /** Aborts when the command is to end early. */
  readonly signal?: AbortSignal
}

/** Carries out a command. @returns 0 for success, 1 for failure. @throws UsageError, ConfigError: `runCommand` prints either. */
export type Command = (argv: readonly string[], io: Io) => Promise<number>

/** A wrong command line. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly sentence: Sentence

  constructor(sentence: Sentence) {
    super(String(sentence))
    this.sentence = sentence
  }
}

/** Writes a sentence and a line end in the language of the terminal. */
export function writeLine(io: Io, to: 'stdout' | 'stderr', sentence: Sentence): void {
  io[to].write(`${sentence.in(languageOfTerminal(io.env)).trimEnd()}\n`)
}

/** Says why a command failed. @returns its exit code */
export function failWith(io: Io, why: Sentence): 1 {
  writeLine(io, 'stderr', why)
  return 1
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
    if (count < positionals.least) throw new UsageError(say('something is missing'))
    if (count > positionals.most)
      throw new UsageError(say('what is “{word}”?', { word: parsed.positionals[positionals.most] ?? '' }))
    return parsed
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw misused(error, options)
  }
}

/** Says in our words what Node says of an option. */
function misused(
  error: TypeError & { readonly code?: unknown },
  options: NonNullable<ParseArgsConfig['options']>,
): UsageError {
  const option = /'(?:-\w, )?(-[^\s']*)/.exec(error.message)?.[1]?.replace(/=.*/s, '') ?? ''
  const name = option.replace(/^-+/, '')
  if (!Object.hasOwn(options, name)) {
    const known = Object.keys(options).map(each => `--${each}`)
    return new UsageError(
      known.length === 0
        ? say('there is no option {option}, and no other one', { option })
        : say('there is no option {option}; there are {known}', { option, known: known.join(' ') }),
    )
  }
  return new UsageError(
    options[name]?.type === 'boolean'
      ? say('{option} takes no value', { option })
      : say('{option} needs its value behind it', { option }),
  )
}
