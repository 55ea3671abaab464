/**
 * How a text is cut into SMS segments, which is what is paid for.
 * Source: 3GPP TS 23.038 (GSM 7-bit default alphabet, 6.2.1, and its extension table, 6.2.1.1), TS 23.040 for the
 * 140 octets of a message less the 6 of a concatenation header.
 */

const BASIC =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?' +
  '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà'
/** Each takes an escape and a second septet, which must not be parted. */
const EXTENDED = '\f^{}\\[~]|€'

const septets = new Map(Array.from(BASIC, char => [char, 1]))
for (const char of EXTENDED) septets.set(char, 2)

export interface Segments {
  readonly encoding: 'GSM-7' | 'UCS-2'
  /** Septets of GSM-7, or UTF-16 code units of UCS-2. */
  readonly units: number
  readonly segments: number
}

/** Says how many segments `text` takes: 160 septets or 70 code units alone, 153 or 67 each when there are several. */
export function countSegments(text: string): Segments {
  const inGsm7 = countSeptets(text)
  const gsm = inGsm7 !== null
  const units = inGsm7 ?? text.length
  const [alone, each] = gsm ? [160, 153] : [70, 67]
  const encoding = gsm ? 'GSM-7' : 'UCS-2'
  if (units <= alone) return { encoding, units, segments: 1 }
  let count = 1
  let used = 0
  for (const char of text) {
    const size = gsm ? (septets.get(char) ?? 1) : char.length
    if (used + size > each) {
      count++
      used = 0
    }
    used += size
  }
  return { encoding, units, segments: count }
}

/** @returns null: a character of it is not in the alphabet. */
function countSeptets(text: string): number | null {
  let sum = 0
  for (const char of text) {
    const own = septets.get(char)
    if (own === undefined) return null
    sum += own
  }
  return sum
}

/** Plain characters, each with those that look like it. */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  "'": '‘’‚‛′‹›',
  '"': '“”„‟″«»',
  '-': '‐‑‒–—―−•·',
  '...': '…',
  x: '×',
  C: '℃',
  F: '℉',
  deg: '°',
  ' ': '\t',
}
const plainOf = new Map(
  Object.entries(LOOK_ALIKES).flatMap(([plain, alike]) => Array.from(alike, char => [char, plain] as const)),
)

/**
 * Our own words in the GSM-7 alphabet: curly quotes, dashes and accents that it lacks become their plain neighbours.
 * Characters that have none (Chinese, Arabic) stay. Never for a parameter: a code or a name is not ours to change.
 */
export function transliterate(words: string): string {
  let out = ''
  for (const char of words) {
    if (septets.has(char)) out += char
    else if (/\p{Zs}/u.test(char)) out += ' '
    else {
      const plain = plainOf.get(char) ?? char.normalize('NFD').replace(/\p{M}/gu, '')
      out += Array.from(plain).every(c => septets.has(c)) && plain !== '' ? plain : char
    }
  }
  return out
}
