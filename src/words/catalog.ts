import type { Brand } from './brand.ts'
import type { Language } from './language.ts'
import { FALLBACK, matchLocale } from './locales.ts'
import { type Compiled, createEngine, type Engine, templateFaultOf } from './template-engine.ts'
import { readTemplates, type TemplateProblem } from './template-files.ts'
import { compileOwnMail, readLanguage, renderSamples } from './template-validation.ts'
import { fixedVariables, layoutVariables } from './template-variables.ts'

/** Everything compiled, as it stands at one moment. Never changes; a reload makes another. */
export interface Catalog {
  readonly languages: ReadonlyMap<string, Language>
  /** The language to say `channel/kind` in when `tag` is wanted: that or its nearest kin, else the fallback. */
  languageFor(tag: string, what: string): Language
  /** A kind's own html or text, in this language's version first, or the layout. */
  template(part: 'html' | 'txt', name: string, tag: string): Compiled
  /** Whether both parts of that are the built-in layouts. */
  isBuiltIn(name: string, tag: string): boolean
}

export interface CatalogLoader {
  /** Reads everything again. A file that is broken now counts as it was when it last was good, or not at all. */
  load(): { readonly catalog: Catalog; readonly problems: readonly TemplateProblem[] }
}

/**
 * @param builtIn directory of the words and layouts that come with the service; a fault in it throws
 * @param overrides the operator's directory, laid out the same way; undefined: none
 */
export function createCatalogLoader(
  builtIn: string,
  overrides: string | undefined,
  brand: Brand,
): CatalogLoader {
  const ours = readTemplates(builtIn).texts
  /** Text of each override when it was last good. */
  const lastGood = new Map<string, string>()

  return {
    load() {
      const read =
        overrides === undefined
          ? { texts: new Map<string, string>(), problems: [] }
          : readTemplates(overrides)
      const problems: TemplateProblem[] = [...read.problems]
      const unreadable = new Set(read.problems.filter(({ is }) => is === 'refused').map(({ file }) => file))
      for (const file of lastGood.keys()) {
        const gone = !read.texts.has(file) && !unreadable.has(file) && !unreadable.has('.')
        if (gone) lastGood.delete(file)
      }

      /** Takes the first of a file's texts that stands the trial: as it is now, as it last was good, ours. */
      function take<T>(file: string, trial: (text: string) => T): T | undefined {
        const now = read.texts.get(file)
        if (now !== undefined) {
          try {
            const taken = trial(now)
            lastGood.set(file, now)
            return taken
          } catch (error) {
            problems.push(refusedProblem(file, error))
          }
        }
        const before = lastGood.get(file)
        if (before !== undefined && before !== now) {
          try {
            return trial(before)
          } catch {
            // It was good beside another layout. The fault that was named is the one to mend.
          }
        }
        const text = ours.get(file)
        return text === undefined ? undefined : trial(text)
      }

      const words = createEngine('none')
      const languages = new Map<string, Language>()
      for (const file of listFiles('locales/', ours, read.texts, lastGood)) {
        const tag = file.slice('locales/'.length, -'.json'.length)
        const language = take(file, text => readLanguage(tag, text, ours.get(file), words, brand))
        if (language) languages.set(language.tag, language)
      }
      const english = languages.get(FALLBACK)
      if (!english) throw new Error(`the built-in words for ${FALLBACK} are missing`)
      for (const [tag, language] of languages) problems.push(...findGaps(tag, language, english))

      const sources = new Map<string, { readonly source: string; readonly engine: Engine }>()
      for (const part of ['html', 'txt'] as const) {
        const layout = `layout.${part}`
        const source = take(layout, text => {
          renderSamples(
            createEngine(part === 'html' ? 'html' : 'none').compile(text, layoutVariables),
            english,
            brand,
          )
          return text
        })
        if (source === undefined) throw new Error(`the built-in ${layout} is missing`)
        const engine = createEngine(part === 'html' ? 'html' : 'none', { [layout]: source })
        sources.set(layout, { source, engine })
        for (const file of listFiles('messages/', ours, read.texts, lastGood)) {
          if (!file.endsWith(`.${part}`)) continue
          const [name = '', tag] = file.slice('messages/'.length, -part.length - 1).split('.')
          const source = take(file, text => compileOwnMail(text, name, tag, engine, languages, brand))
          if (source !== undefined) sources.set(file, { source, engine })
        }
      }
      return {
        catalog: {
          languages,
          languageFor: createLanguageLookup(languages, english),
          template: createTemplateLookup(sources, languages, brand),
          isBuiltIn: (name, tag) =>
            (['html', 'txt'] as const).every(part => {
              const file = fileFor(sources, part, name, tag)
              return file === `layout.${part}` && sources.get(file)?.source === ours.get(file)
            }),
        },
        problems,
      }
    },
  }
}

/** Remembers what was found: working out a language's kin takes longer than saying the message. */
function createLanguageLookup(
  languages: ReadonlyMap<string, Language>,
  fallback: Language,
): Catalog['languageFor'] {
  const found = new Map<string, Language>()
  return (tag, what) => {
    const language =
      found.get(tag) ?? languages.get(matchLocale(tag, languages.keys()) ?? FALLBACK) ?? fallback
    if (found.size < 100) found.set(tag, language)
    return language.kinds.has(what) ? language : fallback
  }
}

/** Finds a kind's template and compiles it for a language, with all that never changes printed in, when first asked. */
function createTemplateLookup(
  sources: ReadonlyMap<string, { readonly source: string; readonly engine: Engine }>,
  languages: ReadonlyMap<string, Language>,
  brand: Brand,
): Catalog['template'] {
  const compiled = new Map<string, Compiled>()
  return (part, name, tag) => {
    const file = fileFor(sources, part, name, tag)
    const key = `${tag}/${file}`
    const before = compiled.get(key)
    if (before) return before
    const found = sources.get(file)
    const language = languages.get(tag)
    if (!found || !language) throw new Error(`no ${file} for ${tag}`)
    const template = found.engine.compile(found.source, layoutVariables, fixedVariables(brand, language))
    compiled.set(key, template)
    return template
  }
}

/** A kind's own file in this language, its own in all, or the layout. */
function fileFor(
  sources: ReadonlyMap<string, unknown>,
  part: 'html' | 'txt',
  name: string,
  tag: string,
): string {
  const own = [`messages/${name}.${tag}.${part}`, `messages/${name}.${part}`]
  return own.find(file => sources.has(file)) ?? `layout.${part}`
}

/** What a language could do with, as warnings. */
function findGaps(tag: string, language: Language, english: Language): readonly TemplateProblem[] {
  const file = `locales/${tag}.json`
  const missing = [...english.kinds].filter(name => !language.kinds.has(name))
  const wordless = `has no words for ${missing.join(', ')}: they are said in ${FALLBACK}`
  const formless = `has no form for ${language.missingForms.join(', ')}: other is used`
  return [
    ...(missing.length > 0 ? [wordless] : []),
    ...(language.missingForms.length > 0 ? [formless] : []),
  ].map(reason => ({
    file,
    reason,
    is: 'warning' as const,
  }))
}

function refusedProblem(file: string, error: unknown): TemplateProblem {
  const { message, line } = templateFaultOf(error)
  return { file, ...(line !== undefined && { line }), reason: message, is: 'refused' }
}

function listFiles(folder: string, ...sets: readonly ReadonlyMap<string, string>[]): readonly string[] {
  return [...new Set(sets.flatMap(set => [...set.keys()]))].filter(file => file.startsWith(folder)).sort()
}
