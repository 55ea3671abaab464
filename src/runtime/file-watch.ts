import type { Stats } from 'node:fs'

interface FileWatchOptions {
  /** Describes the files as they are; it changes whenever one of them does, see `describeFile`. */
  readonly fingerprint: () => string | Promise<string>
  /** The fingerprint of what was read already; undefined: nobody looked then, so `onChange` is called once in any case. */
  readonly known?: string
  readonly everyMs: number
  readonly onChange: () => void
}

/**
 * Looks at files every so often, and calls `onChange` when they have changed and are the same at two looks: before that one may be
 * half written. The files are looked at, since events of the file system do not come from every mount.
 * @returns a function that ends it
 */
export function watchFiles({ fingerprint, known, everyMs, onChange }: FileWatchOptions): () => void {
  let lastSeen = known
  let lastReported = known
  let looking = false

  async function look(): Promise<void> {
    if (looking) return
    looking = true
    const now = await fingerprint()
    looking = false
    if (now !== lastReported && now === lastSeen) {
      lastReported = now
      onChange()
    }
    lastSeen = now
  }

  const timer = setInterval(() => void look(), everyMs).unref()
  void look()
  return () => clearInterval(timer)
}

/** Describes what a path leads to: a mounted ConfigMap is made of links, which are followed. */
export function describeFile(found: Stats | null | undefined): string {
  return found?.isFile() ? `${found.size} ${found.mtimeMs} ${found.ino}` : ''
}
