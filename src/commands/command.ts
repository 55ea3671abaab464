import { type ParseArgsConfig, parseArgs } from 'node:util'
import { languageOfTerminal } from '../language/choose.ts'
import { type ReaderLanguage, Sentence, say, translateText } from '../language/sentence.ts'
import { fillLines, padColumn } from '../runtime/terminal.ts'

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

/** An option of a command: how it is read, what help says of it, and what completion offers. */
interface CommandOption {
  readonly type: 'string' | 'boolean'
  readonly multiple?: boolean
  readonly default?: string | boolean | string[]
  /** What its value is called: `URL`. */
  readonly value?: string
  readonly about: Sentence
  /** Lines below it, such as each value that it may have, with what that means. */
  readonly values?: readonly (readonly [value: string, meaning: Sentence])[]
}

export type CommandOptions = Readonly<Record<string, CommandOption>>

export interface Command {
  /** What stands behind its name: `FILE`. */
  readonly takes?: string
  /** The words that may stand behind its name, for completion. */
  readonly words?: readonly string[]
  /** What it does, a paragraph each. */
  readonly about: readonly Sentence[]
  readonly options?: CommandOptions
  /** @throws UsageError, ConfigError: `runCommand` prints either. */
  run(argv: readonly string[], io: Io): Promise<number>
}

/** A wrong command line: what is wrong, and with which option. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly sentence: Sentence
  readonly option: string | undefined

  constructor(sentence: Sentence, option?: string) {
    super(String(sentence))
    this.sentence = sentence
    this.option = option
  }
}

/** Writes a sentence and a line end in the language of the terminal. */
export function writeLine(io: Io, to: 'stdout' | 'stderr', sentence: Sentence | string): void {
  const line = typeof sentence === 'string' ? translateText(sentence) : sentence
  io[to].write(`${line.in(languageOfTerminal(io.env)).trimEnd()}\n`)
}

/** Reads a command's arguments strictly. @throws UsageError for an unknown option or one without its value. */
export function readArguments<T extends NonNullable<ParseArgsConfig['options']> & CommandOptions>(
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
function misused(error: TypeError & { readonly code?: unknown }, options: CommandOptions): UsageError {
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
    name,
  )
}

/** Columns of a page of help. */
const WIDTH = 116

/** How a command is written: `callback-courier urls [options]`. */
export function formatSynopsis(name: string, { takes, options = {} }: Command): string {
  const more = takes ?? (Object.keys(options).length === 0 ? '' : '[OPTIONS]')
  return `callback-courier ${name} ${more}`.trimEnd()
}

/** The text that `--help` prints. */
export function formatHelp(name: string, command: Command, language: ReaderLanguage): string {
  const { about, options = {} } = command
  const parts = [
    `${formatSynopsis(name, command)}\n`,
    ...about.map(each => indent(fillLines(each.in(language), WIDTH), 2)),
    formatOptions(options, Object.keys(options), language),
  ]
  return parts.filter(part => part !== '').join('\n')
}

/** Some options of a command, a row each. */
export function formatOptions(
  options: CommandOptions,
  names: readonly string[],
  language: ReaderLanguage,
): string {
  const heads = names.map(
    name => `--${name}${options[name]?.value === undefined ? '' : ` ${options[name].value}`}`,
  )
  const width = Math.max(0, ...heads.map(head => head.length))
  return names
    .map((name, at) => {
      const { about, values = [] } = options[name] ?? { about: '' }
      const valueWidth = Math.max(0, ...values.map(([value]) => value.length))
      const lines = [
        ...fillLines(about instanceof Sentence ? about.in(language) : about, WIDTH - width - 2),
        ...values.map(([value, meaning]) => `  ${padColumn(value, valueWidth)}  ${meaning.in(language)}`),
      ]
      return `  ${padColumn(heads[at] ?? '', width)}  ${lines[0]}\n${indent(lines.slice(1), width + 4)}`
    })
    .join('')
}

function indent(lines: readonly string[], by: number): string {
  return lines.map(line => `${' '.repeat(by)}${line}\n`).join('')
}
