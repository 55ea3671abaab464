import type { Brand } from './brand.ts'
import { type Catalog, createCatalogLoader } from './catalog.ts'
import { FALLBACK, matchLocale } from './locales.ts'
import { templateFaultOf } from './template-engine.ts'
import { fingerprint, type TemplateProblem } from './template-files.ts'

export interface TemplatesOptions {
  /** Directory of the words and layouts that come with the service. */
  readonly builtIn: string
  /** The operator's own. */
  readonly dir: string | undefined
  readonly brand: Brand
  /** Languages that the settings ask for. */
  readonly wantedLocales: readonly string[]
  /** Told of every problem when it is new, and that problems are gone. */
  readonly log:
    | { warn(fields: object, text: string): void; info(fields: object, text: string): void }
    | undefined
  /** How often `dir` is looked at, ms. A look is a handful of stat calls, which work on mounts that send no events. */
  readonly pollEveryMs: number
}

export interface Templates {
  /** What is in use now. */
  current(): Catalog
  /**
   * Says something with what is in use now, and with the built-in templates when that fails on this very message,
   * which no trial foresaw. The failure is a problem from then on.
   */
  renderWith<T>(name: string, say: (catalog: Catalog) => T): T
  problems(): readonly TemplateProblem[]
  /** Reads everything again now. */
  reload(): readonly TemplateProblem[]
  close(): void
}

/** Keeps the templates as the operator's directory has them, and never without a working one. */
export function createTemplates({
  builtIn,
  dir,
  brand,
  wantedLocales,
  log,
  pollEveryMs,
}: TemplatesOptions): Templates {
  const ours = createCatalogLoader(builtIn, undefined, brand).load()
  const loader = dir === undefined ? undefined : createCatalogLoader(builtIn, dir, brand)
  let catalog = ours.catalog
  let problems: readonly TemplateProblem[] = []
  let failed = new Map<string, TemplateProblem>()
  load()

  /** The directory as it was when it was last looked at, and when it was last read. */
  let seen: string | undefined
  let loaded: string | undefined
  let looking = false
  const timer = dir === undefined ? undefined : setInterval(() => void look(dir), pollEveryMs)
  timer?.unref()
  if (dir !== undefined) void look(dir)

  return {
    current: () => catalog,
    renderWith(name, say) {
      try {
        return say(catalog)
      } catch (error) {
        if (catalog === ours.catalog) throw error
        report(name, error)
        return say(ours.catalog)
      }
    },
    problems: () => [...problems, ...failed.values()],
    reload: load,
    close: () => clearInterval(timer),
  }

  function load(): readonly TemplateProblem[] {
    const before = new Set(problems.map(problemKey))
    const read = loader?.load() ?? ours
    catalog = read.catalog
    failed = new Map()
    const missing = wantedLocales.filter(tag => matchLocale(tag, catalog.languages.keys()) === null)
    problems = [...read.problems, ...[...new Set(missing)].map(noWordsProblem)]
    for (const problem of problems)
      if (!before.has(problemKey(problem))) log?.warn({ ...problem }, 'template problem')
    const now = new Set(problems.map(problemKey))
    if ([...before].some(problem => !now.has(problem)))
      log?.info({ problems: problems.length }, 'templates read again')
    return problems
  }

  async function look(at: string): Promise<void> {
    if (looking) return
    looking = true
    const now = await fingerprint(at)
    looking = false
    // A file may be half written: read only what has stood still from one look to the next. The first time whatever
    // it is, because nobody knows what was written between the start's reading and the first look.
    if (now !== loaded && now === seen) {
      load()
      loaded = now
    }
    seen = now
  }

  function report(name: string, error: unknown): void {
    if (failed.has(name)) return
    const { message, line } = templateFaultOf(error)
    const problem: TemplateProblem = {
      file: name,
      ...(line !== undefined && { line }),
      reason: message,
      is: 'refused',
    }
    failed.set(name, problem)
    log?.warn({ ...problem }, 'template failed on a message: the built-in one is used')
  }
}

function noWordsProblem(tag: string): TemplateProblem {
  return {
    file: `locales/${tag}.json`,
    reason: `there are no words for ${tag}: ${FALLBACK} is used`,
    is: 'warning',
  }
}

function problemKey({ file, line, reason }: TemplateProblem): string {
  return `${file}:${line ?? ''}:${reason}`
}
