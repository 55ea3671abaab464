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
