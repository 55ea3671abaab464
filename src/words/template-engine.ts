import { createRequire } from 'node:module'
import type * as Liquidjs from 'liquidjs'
import { quote, say, ToldError, type Words } from '../language/sentence.ts'
import { LINK_IN_TEXT } from '../messages/links.ts'
import { escapeHtml } from '../runtime/html.ts'

// Loaded with the first engine: the settings, which every command reads, may hold templates and mostly do not.
const require = createRequire(import.meta.url)

/** The values that a template may name. They are data: they are printed, never compiled. */
export type Scope = Readonly<Record<string, unknown>>

export interface Compiled {
  /** @throws LiquidError when it cannot be rendered with this scope. */
  (scope: Scope): string
  /** The names that it uses, `brand.name` as such. */
  readonly variables: readonly string[]
}

/** A fault in a template, for the operator. */
export class TemplateFault extends ToldError {
  override readonly name = 'TemplateFault'
  /** Lines count from 1; it is undefined when nobody knows the line. */
  readonly line: number | undefined
  constructor(words: Words, line: number | undefined, options?: ErrorOptions) {
    super(words, options)
    this.line = line
  }
}

/**
 * Bounds of one render. Counted, not timed, so that a busy machine never fails a message; far above what any mail
 * needs. Without them a template could loop a process to death.
 */
const LIMITS = { templateLimit: 20_000, memoryLimit: 2_000_000 }

type Escape = 'html' | 'none' | ((value: unknown) => string)

export interface Engine {
  /**
   * @param known the names it may use: a variable, or a variable and its field (`brand.name`); any field of one that
   *   stands alone. A name that is not among them is a fault, wherever it stands.
   * @throws TemplateFault
   */
  compile(source: string, known: ReadonlySet<string>): Compiled
}

/**
 * LiquidJS, closed: no file is ever read (partials and layouts only from `parts`), no parameter is ever compiled,
 * only own properties are seen, an unknown filter or variable is a fault.
 * @param escape `html`: everything printed is escaped; `none`: printed as it is, for text; a function: all that is printed goes
 *   through it, whatever the template says.
 * @param parts templates that others may name in `layout`, `render` or `include`, by file name
 * @param filters beside Liquid's own, by name
 */
export function createEngine(
  escape: Escape,
  parts: Readonly<Record<string, string>> = {},
  filters: Readonly<Record<string, (value: unknown, ...more: unknown[]) => string>> = {},
): Engine {
  const { Liquid } = require('liquidjs') as typeof Liquidjs
  const liquid = new Liquid({
    root: '.',
    templates: { ...parts },
    cache: true,
    strictVariables: true,
    strictFilters: true,
    ownPropertyOnly: true,
    parseLimit: 500_000,
    // The locale of month names: asking for the machine's would load all that is known of languages, 20 ms.
    locale: 'en-US',
    ...(escape !== 'none' && { outputEscape: escape === 'html' ? ('escape' as const) : escape }),
  })
  if (typeof escape === 'function') liquid.unregisterFilter('raw')
  else liquid.registerFilter('autolink', { raw: true, handler: autolink })
  liquid.registerFilter('truncate', shorten)
  for (const [name, filter] of Object.entries(filters)) liquid.registerFilter(name, filter)

  const parse = (source: string) => guard(source, () => liquid.parse(source))
  const names = (templates: Liquidjs.Template[], source: string) =>
    guard(source, () =>
      liquid.globalVariableSegmentsSync(templates, { partials: true }).map(path =>
        path
          .filter((part): part is string => typeof part === 'string')
          .slice(0, 2)
          .join('.'),
      ),
    )
  return {
    compile(source, known) {
      const templates = parse(source)
      const variables = names(templates, source)
      for (const name of variables) {
        if (!known.has(name) && !known.has(name.split('.')[0] ?? '')) {
          throw new TemplateFault(say('unknown variable: {name}', { name }), lineOf(source, name))
        }
      }
      const render = (scope: Scope) => liquid.renderSync(templates, scope, LIMITS) as string
      return Object.assign(render, { variables })
    },
  }
}

/** The reason of any error, in one line, and its line in the template. */
export function templateFaultOf(error: unknown): TemplateFault {
  if (error instanceof TemplateFault) return error
  const message = error instanceof Error ? error.message : String(error)
  const line = /line:(\d+)/.exec(message)?.[1]
  const reason = (message.split('\n')[0] ?? '').replace(/, (?:file:[^,]*, )?line:\d+.*$/, '')
  return new TemplateFault(quote(reason), line === undefined ? undefined : Number(line), { cause: error })
}

function guard<T>(source: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const fault = templateFaultOf(error)
    const partial = /Failed to lookup "([^"]*)"/.exec(fault.message)?.[1]
    if (partial === undefined) throw fault
    throw new TemplateFault(say('no template is called {partial}', { partial }), lineOf(source, partial), {
      cause: error,
    })
  }
}

/** The first line that holds a name. */
function lineOf(source: string, name: string): number | undefined {
  const at = source.split('\n').findIndex(line => line.includes(name))
  return at < 0 ? undefined : at + 1
}

/** Running text as HTML: escaped, its links clickable and otherwise untouched, its line ends kept. */
function autolink(value: unknown): string {
  const text = typeof value === 'string' ? value : ''
  let html = ''
  let done = 0
  for (const match of text.matchAll(LINK_IN_TEXT)) {
    const url = escapeHtml(match[0])
    html += escapeHtml(text.slice(done, match.index))
    html += `<a href="${url}" target="_blank" rel="noopener noreferrer" style="color: inherit; word-break: break-word; overflow-wrap: anywhere;">${url}</a>`
    done = match.index + match[0].length
  }
  return (html + escapeHtml(text.slice(done))).replace(/\r\n?|\n/g, '<br>\n')
}

/**
 * The beginning of a text, in whole words, with three dots. A number stays with its unit: `above -15...` is another thing than
 * `above -15 °C`, so it is left out with what it belongs to.
 * @param most how many characters it may have, the dots included
 */
function shorten(value: unknown, most: unknown = 50): string {
  const text = typeof value === 'string' ? value : ''
  const characters = Array.from(text)
  const length = Number(most)
  if (characters.length <= length) return text
  const room = characters.slice(0, Math.max(0, length - 2)).join('')
  const words = text.includes(' ') ? room.slice(0, Math.max(room.lastIndexOf(' '), 0)) : room.slice(0, -1)
  const whole = words.replace(/(?:^|\s)[<>=≤≥]*[-+−]?\d[\d.,:]*$/u, '').trimEnd()
  return whole === '' ? '' : `${whole}...`
}
