import type { ReaderLanguage } from './sentence.ts'

/** The language of a browser's reader, by its Accept-Language (RFC 9110, 12.5.4); English when it names none of ours. */
export function languageOfBrowser(acceptLanguage: string | undefined): ReaderLanguage {
  const wanted = (acceptLanguage ?? '').split(',').flatMap(part => {
    const [tag = '', ...parameters] = part.split(';').map(text => text.trim())
    const quality = Number(/^q=([\d.]+)$/i.exec(parameters[0] ?? 'q=1')?.[1] ?? 0)
    const language = languageOfTag(tag)
    return language === null || !(quality > 0) ? [] : [{ language, quality }]
  })
  return wanted.sort((one, other) => other.quality - one.quality)[0]?.language ?? 'en'
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
  const [primary] = tag.toLowerCase().split(/[-.@]/)
  if (primary === 'zh') return 'zh-CN'
  return primary === 'en' ? 'en' : null
}
