import { globSync, readFileSync } from 'node:fs'
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

/** The program's files below a directory, with their text. */
export function readSources(root: string): ReadonlyMap<string, string> {
  const files = globSync('src/**/*.ts', { cwd: root })
  return new Map(files.map(file => [file, readFileSync(join(root, file), 'utf8')]))
}

/** The file that a mistake is planted in, and its text with the mistake; or why it cannot be planted. */
export function placeMistake(
  { text, instead }: Mistake,
  sources: ReadonlyMap<string, string>,
): { readonly file: string; readonly planted: string } | { readonly fault: string } {
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
  const end = match.index + match[0].length
  return { file, planted: source.slice(0, match.index) + instead + source.slice(end) }
}
