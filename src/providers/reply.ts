const MAX_LENGTH = 200
/**
 * So much of a reply is looked at, in which the recipient and secrets are hidden, and then so much of that, in which addresses and
 * codes are looked for: that takes the square of its length, and with 2,000 letters in front of an @ cost 8 ms.
 */
const READ_LENGTH = 2_000
const LOOKED_AT_LENGTH = 600

/**
 * A provider's words as they may be logged, stored and shown: one line, at most 200 characters, without the
 * recipient, any address, link or anything that could be a code. Servers repeat the address they refuse and some
 * quote the message, so whatever looks like one of these goes, even when it was harmless (a host's name with a
 * digit in it).
 *
 * @param text what the provider said.
 * @param recipient the address or number of the message.
 * @param secrets passwords and the like that the provider knows of us.
 */
export function presentableReply(text: string, recipient: string, secrets: readonly string[] = []): string {
  let line = text.slice(0, READ_LENGTH).replace(/[\p{C}\p{Z}]+/gu, ' ')
  for (const secret of secrets) line = replaceAll(line, secret, '…')
  line = replaceAll(line, recipient, '<recipient>')
  if (line.length > LOOKED_AT_LENGTH) {
    // It ends before a word: half an address would not be known for one.
    const end = line.lastIndexOf(' ', LOOKED_AT_LENGTH)
    line = line.slice(0, end < MAX_LENGTH ? LOOKED_AT_LENGTH : end)
  }
  // Nearly no reply to a message that was sent has anything to take out, so it is looked for first.
  if (/:\/\/|www\./i.test(line)) line = line.replace(/(?:\b[a-z][a-z0-9+.-]*:\/\/|\bwww\.)\S+/gi, '<link>')
  if (line.includes('@'))
    line = line.replace(/<?(?:"[^\s"]{1,64}"|[^\s<>()[\]"',;]+)@[^\s<>()[\]"',;]+>?/g, '<address>')
  return (
    line
      .replace(/[^\s<>()[\]"',;:]*\d[^\s<>()[\]"',;:]*/g, hideCode)
      .trim()
      .slice(0, MAX_LENGTH)
      // An emoji may have been cut in half.
      .toWellFormed()
  )
}

/** Hides a word that may be a code: four digits in a row, or letters and digits mixed; `550` and `5.7.26` are neither. */
function hideCode(word: string): string {
  const mayBeCode = /\d(?:[-. ]?\d){3}/.test(word)
    ? !/^\d\.\d{1,3}\.\d{1,3}\.?$/.test(word)
    : /\d/.test(word) && /\p{L}/u.test(word) && word.length >= 4
  return mayBeCode ? '…' : word
}

function replaceAll(text: string, found: string, by: string): string {
  const bare = found.replace(/^\+/, '')
  if (bare.length < 3 || !text.toLowerCase().includes(bare.toLowerCase())) return text
  const pattern = bare.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  return text.replace(new RegExp(String.raw`<?\+?${pattern}>?`, 'gi'), by)
}

/** A provider's id or status as it may be stored, logged and shown: a short word of printable ASCII; undefined: it is none. */
export function readWord(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\x21-\x7e]{1,64}$/.test(value) ? value : undefined
}

/**
 * A provider's code as it may be logged, counted and shown: a short word that repeats neither the recipient's number nor
 * `secrets`; undefined: it is none. A word without digits, or a shorter one, may stand in a code by chance.
 */
export function presentableCode(
  code: string,
  recipient: string,
  secrets: readonly string[],
): string | undefined {
  // Carriers write a number in several ways, which have its end in common.
  const hidden = [recipient.slice(-8), ...secrets].filter(each => each.length >= 4)
  const repeats = hidden.some(each => each === code || (/\d/.test(each) && code.includes(each)))
  return repeats || !/^[\x21-\x7e]{1,80}$/.test(code) ? undefined : code
}
