import { findKind, PLAIN_KIND } from '../messages/kinds.ts'
import { samples, withRequiredOnly } from '../messages/samples.ts'
import type { Brand } from './brand.ts'
import { parseJsonFile } from './json-text.ts'
import { compileLanguage, type WordLanguage } from './language.ts'
import { checkLanguage, type LanguageSource, mergeLanguage } from './language-file.ts'
import { FALLBACK } from './locales.ts'
import type { Compiled, Engine } from './template-engine.ts'
import { formatStatedValidity, layoutVariables, scopeOf } from './template-variables.ts'

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
  const canonical = canonicalTag(tag)
  if (canonical === null)
    throw new Error(
      'the file should be called by the tag of a language (BCP 47), such as de.json or zh-HK.json',
    )
  if (canonical !== tag) throw new Error(`the file should be called ${canonical}.json`)
  const own = parseJsonFile(text)
  if (text === base) return compileLanguage(tag, own as unknown as LanguageSource, text, engine, true)
  const source = checkLanguage(base === undefined ? own : mergeLanguage(parseJsonFile(base), own), text)
  const language = compileLanguage(tag, source, text, engine, false)
  for (const sample of [...samples, ...samples.map(withRequiredOnly)]) {
    if (!language.kinds.has(`${sample.channel}/${sample.name}`)) continue
    const validity = formatStatedValidity(language, sample.channel, sample.content)
    const scope = scopeOf(sample.channel, sample.kind, sample.content, { brand, locale: language, validity })
    if (sample.channel === 'email') language.mailWords(sample.name, scope)
    else
      for (const variant of language.smsVariants(sample.name, scope))
        if (variant.trim() === '') throw new Error(`/sms/${sample.name} comes out blank`)
  }
  return language
}

/** A tag as BCP 47 writes it; null when it names no language, such as `english`: nobody would ever get those words. */
function canonicalTag(tag: string): string | null {
  try {
    const [canonical = tag] = Intl.getCanonicalLocales(tag.replaceAll('_', '-'))
    const names = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' })
    return names.of(canonical) === undefined ? null : canonical
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** Validates a kind's own html or text on samples, and gives it back. @throws TemplateFault, or Error that says what is wrong */
export function validateOwnTemplate(
  text: string,
  name: string,
  tag: string | undefined,
  engine: Engine,
  languages: ReadonlyMap<string, WordLanguage>,
  brand: Brand,
): string {
  if (name !== PLAIN_KIND && !findKind('email', name)) throw new Error(`no kind of mail is called ${name}`)
  const language = languages.get(tag ?? FALLBACK)
  if (!language) throw new Error(`no language is called ${tag}`)
  if (!language.kinds.has(`email/${name}`))
    throw new Error(`locales/${tag}.json has no words for ${name}, so nobody would get this`)
  renderSamples(engine.compile(text, layoutVariables), language, brand, name)
  return text
}

/** Renders the samples, with all parameters and with the required ones, so that what would fail for a reader fails here. */
export function renderSamples(compiled: Compiled, language: WordLanguage, brand: Brand, only?: string): void {
  for (const sample of [...samples, ...samples.map(withRequiredOnly)]) {
    const { channel, name, kind, content } = sample
    if (channel !== 'email' || (only !== undefined && only !== name) || !language.kinds.has(`email/${name}`))
      continue
    const validity = formatStatedValidity(language, channel, content)
    const scope = scopeOf(channel, kind, content, { brand, locale: language, validity })
    if (compiled({ ...scope, words: language.mailWords(name, scope) }).trim() === '')
      throw new Error('comes out blank')
  }
}
