import type { Content } from '../messages/message.ts'
import { countSegments } from '../messages/sms-segments.ts'

/**
 * Matches what phones take for a command at the beginning of a text, and do not show: `//SCKL` (an application's port, Nokia Smart
 * Messaging), `//VVM` (visual voicemail), `//BREW`, `//ANDROID` and others of that form.
 */
const COMMAND = /^\/\/(?=[a-z])/i

/** The codes that the origin-bound one-time code format allows: a browser would not read any other. */
const WEBOTP_CODE = /^[\w-]{1,64}$/

/**
 * Chooses what an SMS says so that it is paid for once: the first variant that fits one segment, with the line that
 * lets a browser fill the code in if at all possible; when none fits, the one with the fewest segments.
 * The line is `@domain #code`, last of the message (WICG, "Origin-bound one-time codes delivered via SMS").
 * @param variants from the fullest to the shortest, at least one
 */
export function chooseText(
  variants: Iterable<string>,
  content: Content,
  webotpDomain: string | undefined,
): string {
  const code = content.params['code']
  const line =
    webotpDomain !== undefined && code !== undefined && WEBOTP_CODE.test(code)
      ? `\n@${webotpDomain} #${code}`
      : ''
  const texts: string[] = []
  for (const variant of variants) {
    const text = present(variant)
    if (countSegments(text + line).segments === 1) return text + line
    texts.push(text)
  }
  const count = (text: string) => countSegments(text).segments
  return (
    texts.find(text => count(text) === 1) ??
    texts.reduce((best, text) => (count(text) < count(best) ? text : best))
  )
}

/** The fullest variant, whatever it costs. @param variants at least one */
export function fullText(variants: Iterable<string>): string {
  const [full = ''] = variants
  return present(full)
}

/** A text as a phone shows it, whole: a command at its beginning is taken apart. */
function present(variant: string): string {
  return trimLines(variant).replace(COMMAND, '/ /')
}

/**
 * Conditions in the words leave blanks behind. Lines stay as they are. The look behind is for blanks before something
 * else: without it each of them would be a place to begin from, which takes the square of the time.
 */
function trimLines(text: string): string {
  return text.replace(/(?<![ \t])[ \t]+$/gm, '').trim()
}
