import { say } from '../language/sentence.ts'
import { findKind, PLAIN_KIND } from '../messages/kinds.ts'
import { samples, withRequiredOnly } from '../messages/samples.ts'
import { compileLanguage, type WordLanguage } from './language.ts'
import { type LanguageSource, readLanguageFile, withWordsByName } from './language-file.ts'
import { type Compiled, createEngine, type Engine, templateFaultOf } from './template-engine.ts'
import { NO_FILES, readTemplates, type TemplateProblem } from './template-files.ts'
import { type Brand, layoutVariables, scopeOf } from './template-variables.ts'

/** Everything compiled, as it stands at one moment. Never changes; a reload makes another. */
export interface Catalog {
  readonly languages: ReadonlyMap<string, WordLanguage>
  /** The language of a `channel/kind` when `tag` is wanted: that or its nearest kin, else the fallback. */
  languageFor(tag: string, kind: string): WordLanguage
  /** The layouts of a kind's mails in a language: the same object at every call. */
  layoutsFor(name: string, tag: string): MailLayouts
}

/** Both parts of a mail: a kind's own html or text, in this language's version first, or the layout. */
export interface MailLayouts extends Readonly<Record<Part, Compiled>> {
  /** Both came with the service: what the built-in layouts do with a message is known (see mails.ts). */
  readonly isBuiltIn: boolean
}

export interface Loaded {
  readonly catalog: Catalog
  readonly problems: readonly TemplateProblem[]
}

type Part = 'html' | 'txt'

interface Template {
  readonly compiled: Compiled
  readonly isBuiltIn: boolean
}

/** Finds the template of a kind: its own in this language, its own in all, or the layout. */
type FindTemplate = (name: string, tag: string) => Template

/** What comes with the service, by its text, compiled once: it is the same in every catalog of a process. */
const builtInLanguages = new Map<string, WordLanguage>()
const builtInLayouts = new Map<string, Compiled>()

function once<T>(compiled: Map<string, T>, text: string, compile: () => T): T {
  const found = compiled.get(text) ?? compile()
  compiled.set(text, found)
  return found
}

/**
 * Reads and compiles everything. A file of the operator's that is broken is a problem, and counts as if it were not there.
 * @param builtIn directory of the words and layouts that come with the service; a fault in it throws
 * @param overrides the operator's directory, laid out the same way; undefined: none
 */
export function loadCatalog(builtIn: string, overrides: string | undefined, brand: Brand): Loaded {
  const ours = readTemplates(builtIn).texts
  const theirs = overrides === undefined ? NO_FILES : readTemplates(overrides)
  const problems: TemplateProblem[] = [...theirs.problems]
  const files = [...new Set([...ours.keys(), ...theirs.texts.keys()])].sort()

  /** Takes the operator's text of a file, when it passes, else the built-in one. */
  function take<T>(file: string, validate: (text: string) => T): T | undefined {
    const [text, base] = [theirs.texts.get(file), ours.get(file)]
    if (text !== undefined)
      try {
        return validate(text)
      } catch (error) {
        const { words: reason, line } = templateFaultOf(error)
        problems.push({ file, line, reason, is: 'refused' })
      }
    return base === undefined ? undefined : validate(base)
  }

  const languages = new Map<string, WordLanguage>()
  const engine = createEngine('none')
  for (const file of files.filter(each => each.startsWith('locales/'))) {
    const tag = file.slice('locales/'.length, -'.json'.length)
    const language = take(file, text => readLanguage(tag, text, ours.get(file), engine, brand))
    if (language) languages.set(tag, language)
  }
  const english = languages.get(FALLBACK)
  if (!english) throw new Error(`the built-in words for ${FALLBACK} are missing`)
  for (const [tag, language] of languages) problems.push(...findGaps(tag, language, english))

  /** Loads one part of all mails: the layout, and the kinds' own templates. */
  function loadTemplates(part: Part, english: WordLanguage): FindTemplate {
    const escape = part === 'html' ? 'html' : 'none'
    const file = `layout.${part}`
    const layout = take(file, text => {
      const isBuiltIn = text === ours.get(file)
      const compile = () => createEngine(escape).compile(text, layoutVariables)
      const compiled = isBuiltIn ? once(builtInLayouts, text, compile) : compile()
      // The built-in one is tried by the tests.
      if (!isBuiltIn) renderSamples(compiled, english, brand)
      return { text, compiled, isBuiltIn }
    })
    if (layout === undefined) throw new Error(`the built-in ${file} is missing`)
    // A template of a kind may extend the layout.
    const engine = createEngine(escape, { [file]: layout.text })
    const own = new Map<string, Template>()
    for (const file of files.filter(each => each.startsWith('messages/') && each.endsWith(`.${part}`))) {
      const [name = '', tag] = file.slice('messages/'.length, -part.length - 1).split('.')
      const compiled = take(file, text => compileOwnTemplate(text, name, tag, engine, languages, brand))
      if (compiled !== undefined) own.set(file, { compiled, isBuiltIn: false })
    }
    return (name, tag) =>
      own.get(`messages/${name}.${tag}.${part}`) ?? own.get(`messages/${name}.${part}`) ?? layout
  }

  const catalog = {
    languages,
    languageFor: createLanguageLookup(languages, english),
    layoutsFor: createLayoutLookup(loadTemplates('html', english), loadTemplates('txt', english)),
  }
  return { catalog, problems }
}

/** Caches the language of each tag: matching tags takes longer than rendering a message. */
function createLanguageLookup(
  languages: ReadonlyMap<string, WordLanguage>,
  fallback: WordLanguage,
): Catalog['languageFor'] {
  const found = new Map<string, WordLanguage>()
  return (tag, kind) => {
    const language =
      found.get(tag) ?? languages.get(matchLocale(tag, languages.keys()) ?? FALLBACK) ?? fallback
    if (found.size < 100) found.set(tag, language)
    return language.kinds.has(kind) ? language : fallback
  }
}

/** Keeps what it finds: the same object is given at every call. */
function createLayoutLookup(findHtml: FindTemplate, findTxt: FindTemplate): Catalog['layoutsFor'] {
  const found = new Map<string, MailLayouts>()
  return (name, tag) => {
    const key = `${tag}/${name}`
    const known = found.get(key)
    if (known !== undefined) return known
    const [html, txt] = [findHtml(name, tag), findTxt(name, tag)]
    const isBuiltIn = html.isBuiltIn && txt.isBuiltIn
    const layouts = { html: html.compiled, txt: txt.compiled, isBuiltIn }
    found.set(key, layouts)
    return layouts
  }
}

/** The words that a language lacks, as a warning. */
function findGaps(tag: string, language: WordLanguage, english: WordLanguage): readonly TemplateProblem[] {
  const missing = [...english.kinds].filter(name => !language.kinds.has(name))
  const reason = say('has no words for {kinds}: they are said in {fallback}', {
    kinds: missing.join(', '),
    fallback: FALLBACK,
  })
  return missing.length > 0 ? [{ file: `locales/${tag}.json`, reason, is: 'warning' }] : []
}

/**
 * Reads a language from its file. Every kind is rendered in one of the operator's, so that what would fail for a reader
 * fails here; the built-in ones are tried by the tests, not at each start.
 * @param base the text of the built-in file of that language, which the operator's may override in parts
 * @throws TemplateFault, or Error whose message says what is wrong
 */
export function readLanguage(
  tag: string,
  text: string,
  base: string | undefined,
  engine: Engine,
  brand: Brand,
): WordLanguage {
  if (!isTag(tag))
    throw new Error(
      'the file should be called by the tag of a language (BCP 47), such as de.json or zh-HK.json',
    )
  const parseBuiltIn = (): unknown => base && JSON.parse(base)
  if (text === base)
    return once(builtInLanguages, text, () =>
      compileLanguage(tag, withWordsByName(parseBuiltIn()) as LanguageSource, engine),
    )
  const { value, lineAt } = readLanguageFile(text, parseBuiltIn())
  const language = compileLanguage(tag, value, engine, lineAt)
  for (const { channel, name, scope } of sampleScopes(language, brand)) {
    if (channel === 'email') language.mailWords(name, scope)
    else
      for (const variant of language.smsVariants(name, scope))
        if (variant.trim() === '') throw new Error(`/sms/${name} comes out blank`)
  }
  return language
}

/** Says whether BCP 47 writes a tag so, and it names a language: nobody would ever get the words of `english`. */
function isTag(tag: string): boolean {
  try {
    const names = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' })
    return Intl.getCanonicalLocales(tag)[0] === tag && names.of(tag) !== undefined
  } catch {
    return false
  }
}

/** Compiles a kind's own html or text, and tries it on samples. @throws TemplateFault, or Error that says what is wrong */
function compileOwnTemplate(
  text: string,
  name: string,
  tag: string | undefined,
  engine: Engine,
  languages: ReadonlyMap<string, WordLanguage>,
  brand: Brand,
): Compiled {
  if (name !== PLAIN_KIND && !findKind('email', name)) throw new Error(`no kind of mail is called ${name}`)
  const language = languages.get(tag ?? FALLBACK)
  if (!language) throw new Error(`no language is called ${tag}`)
  if (!language.kinds.has(`email/${name}`))
    throw new Error(`locales/${tag}.json has no words for ${name}, so nobody would get this`)
  const compiled = engine.compile(text, layoutVariables)
  renderSamples(compiled, language, brand, name)
  return compiled
}

/** Renders the samples, with all parameters and with the required ones, so that what would fail for a reader fails here. */
export function renderSamples(compiled: Compiled, language: WordLanguage, brand: Brand, only?: string): void {
  for (const { channel, name, scope } of sampleScopes(language, brand)) {
    if (channel !== 'email' || (only ?? name) !== name) continue
    if (compiled({ ...scope, words: language.mailWords(name, scope) }).trim() === '')
      throw new Error('comes out blank')
  }
}

/** The values of the samples that a language has words for, with all parameters and with the required ones. */
function sampleScopes(language: WordLanguage, brand: Brand) {
  return [...samples, ...samples.map(withRequiredOnly)]
    .filter(({ channel, name }) => language.kinds.has(`${channel}/${name}`))
    .map(sample => ({ ...sample, scope: scopeOf(sample, language, brand) }))
}

/** The language whose words are complete by definition; what another one lacks is said in it. */
export const FALLBACK = 'en'

/**
 * The language to say a message in: the wanted tag itself, else one of the same language and script (`es-MX` is
 * served by `es`, `zh-HK` by `zh-TW`: both are written in Han, traditional), else the same language; else null.
 * @param available BCP 47 tags of the languages there are
 */
export function matchLocale(wanted: string, available: Iterable<string>): string | null {
  const tags = [...available]
  if (tags.includes(wanted)) return wanted
  const want = maximized(wanted)
  if (!want) return null
  const near = tags
    .map(tag => ({ tag, like: maximized(tag) }))
    .filter(({ like }) => like?.language === want.language)
  return (near.find(({ like }) => like?.script === want.script) ?? near[0])?.tag ?? null
}

function maximized(tag: string): Intl.Locale | null {
  try {
    return new Intl.Locale(tag).maximize()
  } catch {
    return null
  }
}
