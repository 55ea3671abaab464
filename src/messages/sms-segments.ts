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

/** How many segments `text` takes: 160 septets or 70 code units alone, 153 or 67 each when there are several. */
export function countSegments(text: string): Segments {
  const chars = Array.from(text)
  const gsm = chars.every(char => septets.has(char))
  const size = gsm ? (char: string) => septets.get(char) ?? 1 : (char: string) => char.length
  const units = chars.reduce((sum, char) => sum + size(char), 0)
  const [alone, each] = gsm ? [160, 153] : [70, 67]
  const encoding = gsm ? 'GSM-7' : 'UCS-2'
  if (units <= alone) return { encoding, units, segments: 1 }
  let count = 1
  let used = 0
  for (const char of chars) {
    if (used + size(char) > each) {
      count++
      used = 0
    }
    used += size(char)
  }
  return { encoding, units, segments: count }
}

const LOOK_ALIKES: Readonly<Record<string, string>> = {
  '‘': "'",
  '’': "'",
  '‚': "'",
  '‛': "'",
  '′': "'",
  '“': '"',
  '”': '"',
  '„': '"',
  '‟': '"',
  '″': '"',
  '«': '"',
  '»': '"',
  '‹': "'",
  '›': "'",
  '‐': '-',
  '‑': '-',
  '‒': '-',
  '–': '-',
  '—': '-',
  '―': '-',
  '−': '-',
  '…': '...',
  '•': '-',
  '·': '-',
  '×': 'x',
  '℃': 'C',
  '℉': 'F',
  '°': 'deg',
  '\t': ' ',
}

/**
 * Our own words in the GSM-7 alphabet: curly quotes, dashes and accents that it lacks become their plain neighbours.
 * What has none (Chinese, Arabic) stays. Never for a parameter: a code or a name is not ours to change.
 */
export function transliterate(words: string): string {
  let out = ''
  for (const char of words) {
    if (septets.has(char)) out += char
    else if (/\p{Zs}/u.test(char)) out += ' '
    else {
      const plain = LOOK_ALIKES[char] ?? char.normalize('NFD').replace(/\p{M}/gu, '')
      out += Array.from(plain).every(c => septets.has(c)) && plain !== '' ? plain : char
    }
  }
  return out
}
