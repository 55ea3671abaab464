import type { ReaderLanguage } from './sentence.ts'

/** The language of a browser's reader: the first of ours in its Accept-Language, as browsers list them; English when it names none. */
export function languageOfBrowser(acceptLanguage: string | undefined): ReaderLanguage {
  const wanted = (acceptLanguage ?? '').split(',').map(part => languageOfTag(part.trim()))
  return wanted.find(language => language !== null) ?? 'en'
}

/** The language of a terminal's reader: the first of these that is set says it (POSIX, 8.2). */
export function languageOfTerminal(env: Readonly<Record<string, string | undefined>>): ReaderLanguage {
  const locale = [env['LC_ALL'], env['LC_MESSAGES'], env['LANG']].find(
    value => value !== undefined && value !== '',
  )
  return languageOfTag((locale ?? '').replace('_', '-')) ?? 'en'
}

/** Traditional Chinese reads simplified Chinese sooner than English. */
function languageOfTag(tag: string): ReaderLanguage | null {
  const [primary] = tag.toLowerCase().split(/[-.@;]/)
  if (primary === 'zh') return 'zh-CN'
  return primary === 'en' ? 'en' : null
}
