import { readdirSync, readFileSync, statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { say, type Words } from '../language/sentence.ts'
import { describeFile } from '../runtime/file-watch.ts'

/** A problem of a template, for the operator. */
export interface TemplateProblem {
  /** Within TEMPLATES_DIR, such as `locales/de.json`; `built-in` in front when it is one of ours. */
  readonly file: string
  /** Lines count from 1. */
  readonly line?: number
  readonly reason: Words
  /** `refused`: the file as it is now is not used; `warning`: it is used, and could be better. */
  readonly is: 'refused' | 'warning'
}

/** The names of the files in each folder. No other file is ever read. */
const FOLDERS = {
  '': /^layout\.(?:html|txt)$/,
  locales: /^[\w-]+\.json$/,
  messages: /^[\w-]+(?:\.[\w-]+)?\.(?:html|txt)$/,
}

export interface TemplateFiles {
  /** `locales/en.json`, `layout.html`, `messages/file.html` … to their text. */
  readonly texts: ReadonlyMap<string, string>
  readonly problems: readonly TemplateProblem[]
}

export const NO_FILES: TemplateFiles = { texts: new Map(), problems: [] }

/** Reads a directory of templates, whole. A file that cannot be read is a problem, not an error. */
export function readTemplates(dir: string): TemplateFiles {
  const texts = new Map<string, string>()
  const problems: TemplateProblem[] = []
  const refuse = (file: string, error: unknown) =>
    problems.push({ file, reason: say('cannot be read ({code})', { code: codeOf(error) }), is: 'refused' })
  for (const [folder, pattern] of Object.entries(FOLDERS)) {
    let names: readonly string[] = []
    try {
      names = readdirSync(join(dir, folder)).sort()
    } catch (error) {
      // Only the directory itself must be there; an operator who changes one thing has one folder.
      if (folder === '' || codeOf(error) !== 'ENOENT') refuse(folder || '.', error)
    }
    for (const name of names) {
      const file = folder === '' ? name : `${folder}/${name}`
      const path = join(dir, file)
      if (name.startsWith('.') || name.endsWith('~') || (folder === '' && name in FOLDERS)) continue
      if (!pattern.test(name)) {
        if (!statSync(path, { throwIfNoEntry: false })?.isDirectory())
          problems.push({ file, reason: 'is no name of a template, so nothing reads it', is: 'warning' })
        continue
      }
      try {
        texts.set(file, readFileSync(path, 'utf8').replace(/^\uFEFF/, ''))
      } catch (error) {
        refuse(file, error)
      }
    }
  }
  return { texts, problems }
}

/** Describes the names, sizes and times of a directory's templates: it changes whenever one of them does. */
export async function describeTemplates(dir: string): Promise<string> {
  const parts: string[] = []
  for (const folder of Object.keys(FOLDERS)) {
    const names = await readdir(join(dir, folder)).catch((error: unknown) => [codeOf(error)])
    for (const name of names.sort()) {
      const found = await stat(join(dir, folder, name)).catch(() => null)
      parts.push(`${folder}/${name} ${describeFile(found)}`)
    }
  }
  return parts.join('\n')
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
