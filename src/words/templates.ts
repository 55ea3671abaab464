import { fileURLToPath } from 'node:url'
import { say } from '../language/sentence.ts'
import { watchFiles } from '../runtime/file-watch.ts'
import { type Catalog, FALLBACK, type Loaded, loadCatalog, matchLocale } from './catalog.ts'
import { templateFaultOf } from './template-engine.ts'
import { describeTemplates, type TemplateProblem } from './template-files.ts'
import type { Brand } from './template-variables.ts'

/** The directory of the words and layouts that come with the service. */
const BUILT_IN = fileURLToPath(new URL('./templates/', import.meta.url))

export interface TemplatesOptions {
  /** The operator's own. */
  readonly dir: string | undefined
  readonly brand: Brand
  /** Languages that the settings ask for. */
  readonly wantedLocales: readonly string[]
  /** Each problem is logged when the files are read, and that there is none any more. */
  readonly log:
    | { warn(fields: object, text: string): void; info(fields: object, text: string): void }
    | undefined
  /** How often `dir` is checked for changes, ms: a handful of stat calls, which work on mounts that send no events. */
  readonly pollEveryMs: number
}

export interface Templates {
  /** The catalog in use now. */
  current(): Catalog
  /**
   * Renders with the catalog in use, and with the built-in one when that fails on this very message, which the
   * validation of the templates did not foresee. The failure is a problem from then on.
   */
  renderWith<T>(name: string, render: (catalog: Catalog) => T): T
  problems(): readonly TemplateProblem[]
  /** Reads everything again now. */
  reload(): readonly TemplateProblem[]
  close(): void
}

/** Keeps the templates as the operator's directory has them, and never without a working one. */
export function createTemplates(options: TemplatesOptions): Templates {
  const { dir, brand, wantedLocales, log, pollEveryMs } = options
  const load = () => loadCatalog(BUILT_IN, dir, brand)
  const first = load()
  let { catalog } = first
  /** Loaded when the operator's templates fail for the first time. */
  let ours: Catalog | undefined = dir === undefined ? catalog : undefined
  let problems: readonly TemplateProblem[] = []
  /** Problems that showed on a message only, by its kind. */
  let failures = new Map<string, TemplateProblem>()
  take(first)
  const reload = () => take(load())
  const stopWatching =
    dir === undefined
      ? () => {}
      : watchFiles({ fingerprint: () => describeTemplates(dir), everyMs: pollEveryMs, onChange: reload })

  function take(loaded: Loaded): readonly TemplateProblem[] {
    // While a file is broken, all stay as they last were good: they may belong together.
    if (!loaded.problems.some(({ is }) => is === 'refused')) catalog = loaded.catalog
    failures = new Map()
    const missing = wantedLocales.filter(tag => matchLocale(tag, catalog.languages.keys()) === null)
    problems = [...loaded.problems, ...[...new Set(missing)].map(noWordsProblem)]
    for (const problem of problems) log?.warn({ ...problem }, 'template problem')
    if (problems.length === 0 && loaded !== first) log?.info({}, 'templates read again')
    return problems
  }

  function recordFailure(name: string, error: unknown): void {
    if (failures.has(name)) return
    const { words: reason, line } = templateFaultOf(error)
    const problem: TemplateProblem = { file: name, line, reason, is: 'refused' }
    failures.set(name, problem)
    log?.warn({ ...problem }, 'template failed on a message: the built-in one is used')
  }

  return {
    current: () => catalog,
    renderWith(name, render) {
      try {
        return render(catalog)
      } catch (error) {
        if (catalog === ours) throw error
        recordFailure(name, error)
        ours ??= loadCatalog(BUILT_IN, undefined, brand).catalog
        return render(ours)
      }
    },
    problems: () => [...problems, ...failures.values()],
    reload,
    close: stopWatching,
  }
}

function noWordsProblem(tag: string): TemplateProblem {
  const reason = say('there are no words for {tag}: {fallback} is used', { tag, fallback: FALLBACK })
  return { file: `locales/${tag}.json`, reason, is: 'warning' }
}
