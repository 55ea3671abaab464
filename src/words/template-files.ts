import { readdirSync, readFileSync, statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** A problem of a template, for the operator. */
export interface TemplateProblem {
  /** Within TEMPLATES_DIR, such as `locales/de.json`; `built-in` in front when it is one of ours. */
  readonly file: string
  /** From 1. */
  readonly line?: number
  readonly reason: string
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

/** Reads a directory of templates, whole. A file that cannot be read is a problem, not an error. */
export function readTemplates(dir: string): TemplateFiles {
  const texts = new Map<string, string>()
  const problems: TemplateProblem[] = []
  for (const [folder, pattern] of Object.entries(FOLDERS)) {
    for (const name of list(dir, folder, problems)) {
      const file = folder === '' ? name : `${folder}/${name}`
      if (name.startsWith('.') || name.endsWith('~') || (folder === '' && name in FOLDERS)) continue
      if (!pattern.test(name)) {
        if (!isDirectory(join(dir, file))) {
          problems.push({ file, reason: 'is no name of a template, so nothing reads it', is: 'warning' })
        }
        continue
      }
      try {
        texts.set(file, readFileSync(join(dir, file), 'utf8').replace(/^\uFEFF/, ''))
      } catch (error) {
        problems.push({ file, reason: `cannot be read: ${codeOf(error)}`, is: 'refused' })
      }
    }
  }
  return { texts, problems }
}

/**
 * Calls `onChange` when the directory's templates have changed.
 * @returns a function that ends it
 */
export function watchDirectory(dir: string, pollEveryMs: number, onChange: () => void): () => void {
  /** The fingerprint at the last check, and when `onChange` was last called. */
  let lastSeen: string | undefined
  let lastReported: string | undefined
  let checking = false

  async function check(): Promise<void> {
    if (checking) return
    checking = true
    const now = await fingerprint(dir)
    checking = false
    // A file may be half written: report only what has not changed from one check to the next. Also after the first
    // two, because a file may have been written between the reading at the start and the first check.
    if (now !== lastReported && now === lastSeen) {
      onChange()
      lastReported = now
    }
    lastSeen = now
  }

  const timer = setInterval(() => void check(), pollEveryMs)
  timer.unref()
  void check()
  return () => clearInterval(timer)
}

/** Names, sizes and times: changes whenever a template does. Follows links, as mounted ConfigMaps are made of them. */
async function fingerprint(dir: string): Promise<string> {
  const parts: string[] = []
  for (const folder of Object.keys(FOLDERS)) {
    const names = await readdir(join(dir, folder)).catch((error: unknown) => [codeOf(error)])
    for (const name of names.sort()) {
      const found = await stat(join(dir, folder, name)).catch(() => null)
      parts.push(`${folder}/${name} ${found?.isFile() ? `${found.size} ${found.mtimeMs} ${found.ino}` : ''}`)
    }
  }
  return parts.join('\n')
}

function list(dir: string, folder: string, problems: TemplateProblem[]): readonly string[] {
  try {
    return readdirSync(join(dir, folder)).sort()
  } catch (error) {
    // Only the directory itself must be there; an operator who changes one thing has one folder.
    if (folder === '' || codeOf(error) !== 'ENOENT') {
      problems.push({
        file: folder === '' ? '.' : folder,
        reason: `cannot be read: ${codeOf(error)}`,
        is: 'refused',
      })
    }
    return []
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
