import { type ReaderLanguage, Sentence, term } from '../language/sentence.ts'
import { callbackKinds } from '../messages/kinds.ts'
import { fillLines, padColumn } from '../runtime/terminal.ts'
import texts from './help.json' with { type: 'json' }

/** What help and the faults of options know of a command: `help.json` has it. */
interface Help {
  readonly summary: string
  /** What stands behind its name: `FILE`. */
  readonly takes: string
  /** What it does, a paragraph each. */
  readonly about: readonly string[]
  /** Each option with the name of its value, `--base URL`, and what it does. */
  readonly options: Readonly<Record<string, string>>
}

export const helpOf: Readonly<Record<keyof typeof texts, Help>> = texts
type Documented = keyof typeof helpOf

/** Columns of a page of help. */
const WIDTH = 116

/** A text of `help.json`, which the word file has. */
export function helpText(text: string, kinds = ''): Sentence {
  return new Sentence(text, { kinds })
}

/** How a command is written: `callback-courier urls [OPTIONS]`. */
export function formatSynopsis(name: Documented): string {
  return `callback-courier ${name} ${helpOf[name].takes}`.trimEnd()
}

/** The text that `--help` prints. */
export function formatHelp(name: Documented, language: ReaderLanguage): string {
  const { about, options } = helpOf[name]
  const parts = about.map(each => indent(fillLines(helpText(each).in(language), WIDTH), 2))
  const rows = Object.keys(options).length === 0 ? [] : [formatOptions(options, language)]
  return [`${formatSynopsis(name)}\n`, ...parts, ...rows].join('\n')
}

function formatOptions(options: Help['options'], language: ReaderLanguage): string {
  const width = Math.max(...Object.keys(options).map(head => head.length))
  const kinds = callbackKinds
    .map(({ channel, type, name }) => `\n  ${channel.padEnd(5)} ${type}  ${term(name).in(language)}`)
    .join('')
  const rows = Object.entries(options).map(([head, about]) => {
    const lines = fillLines(helpText(about, kinds).in(language), WIDTH - width - 2)
    return `  ${padColumn(head, width)}  ${indent(lines, width + 4).trimStart()}`
  })
  return rows.join('')
}

function indent(lines: readonly string[], by: number): string {
  return lines.map(line => `${' '.repeat(by)}${line}\n`).join('')
}
