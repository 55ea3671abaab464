import { globSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'

/** A mistake of a good engineer's bad day. */
export interface Mistake {
  /** The exact text, which stands once in src; line breaks and indentation count as one space, so that it may move. */
  readonly text: string
  /** What stands in its place. */
  readonly instead: string
  /** The tests that are expected to notice it: files or folders. */
  readonly tests: readonly string[]
}

/** The list of mistakes.txt. */
export function readMistakes(): readonly Mistake[] {
  const list = readFileSync(join(import.meta.dirname, 'mistakes.txt'), 'utf8').replaceAll(/^#.*\n/gm, '')
  return list
    .trim()
    .split('\n\n')
    .flatMap(group => {
      const [tests = '', ...lines] = group.split('\n')
      return [...lines.join('\n').matchAll(/^ {2}(.*)\n {2}⇒ ?(.*)$/gm)].map(
        ([, text = '', instead = '']) => ({ text, instead, tests: tests.split(' ') }),
      )
    })
}

/** The program's files below a directory, with their text. */
export function readSources(root: string): ReadonlyMap<string, string> {
  const files = globSync('src/**/*.ts', { cwd: root })
  return new Map(files.map(file => [file, readFileSync(join(root, file), 'utf8')]))
}

/** The file that a mistake is planted in, and its text with the mistake; or why it cannot be planted. */
export type Place = { readonly file: string; readonly planted: string } | { readonly fault: string }

export function placeMistake({ text, instead }: Mistake, sources: ReadonlyMap<string, string>): Place {
  const words = text.trim().split(/\s+/)
  const pattern = new RegExp(words.map(RegExp.escape).join('\\s+'), 'g')
  // A file without the longest of its words needs no slower look.
  const rarest = words.reduce((a, b) => (b.length > a.length ? b : a))
  const found = [...sources].flatMap(([file, source]) =>
    source.includes(rarest) ? [...source.matchAll(pattern)].map(match => ({ file, source, match })) : [],
  )
  const [first, second] = found
  if (first === undefined) return { fault: `no file of src holds: ${text}` }
  if (second !== undefined) return { fault: `${first.file} and ${second.file} both hold: ${text}` }
  const { file, source, match } = first
  return plant(file, source, match.index, match[0].length, instead)
}

/** A mistake of a sample: what stands in the place of a text, which begins in a line that was drawn. */
export interface Sampled {
  /** File and line, as draw.ts prints them: src/outbox/rules.ts:120. */
  readonly at: string
  readonly text: string
  readonly instead: string
}

export function placeSampled({ at, text, instead }: Sampled, sources: ReadonlyMap<string, string>): Place {
  const [file = '', line] = at.split(':')
  const source = sources.get(file)
  if (source === undefined) return { fault: `there is no ${file}` }
  const lines = source.split('\n')
  const start = lines.slice(0, Number(line) - 1).join('\n').length
  const found = source.indexOf(text, start)
  if (found < 0 || found > start + 1 + (lines[Number(line) - 1] ?? '').length)
    return { fault: `${at} does not hold: ${text}` }
  return plant(file, source, found, text.length, instead)
}

/** What does not parse is no mistake: each test would notice it. */
function plant(file: string, source: string, start: number, length: number, instead: string): Place {
  const planted = source.slice(0, start) + instead + source.slice(start + length)
  try {
    stripTypeScriptTypes(planted)
  } catch {
    return { fault: `${file} does not parse with: ${instead}` }
  }
  return { file, planted }
}
