import words from './guessable-words.json' with { type: 'json' }

/** The fewest different characters of a secret that are left without all that guessers expect: sixteen random letters have thirteen. */
const VARIED = 8
/** Rows of a keyboard; the alphabet and the digits are steps of one. */
const KEYS = ['1234567890', 'qwertyuiop', 'asdfghjkl', 'zxcvbnm']
/** Words of the passwords that leaked most often, and of this service. */
const WORDS = new RegExp(words.toSorted((a, b) => b.length - a.length).join('|'), 'g')
/** Signs that stand for letters in passwords. */
const LETTERS: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
}
/**
 * Says whether a secret is one of those that guessers try: few characters, repeated, in the order of the alphabet or of the
 * keyboard, with well-known words, or several of these. What is left without all that must vary enough by itself. It
 * cannot know every bad secret, and says nothing of length. An estimator (zxcvbn) knows more, and would cost each start 250 ms and 45 MB.
 */
export function isGuessable(secret: string): boolean {
  return isRepeated(secret) || !varies(withoutWords(secret.toLowerCase()))
}

/** Leaves out the words of a text, and those that it writes with signs for letters. */
function withoutWords(text: string): string {
  const left = text.split('')
  const spelled = left.map(sign => LETTERS[sign] ?? sign).join('')
  for (const form of [text, spelled])
    for (const { 0: word, index } of form.matchAll(WORDS)) left.fill('', index, index + word.length)
  return left.join('')
}

function varies(text: string): boolean {
  return new Set(text.split('').filter((_, at) => !isExpected(text, at))).size >= VARIED
}

/** Says whether a text is some characters, over and over. */
function isRepeated(text: string): boolean {
  for (let period = 1; period <= text.length / 2; period += 1)
    if (text.startsWith(text.slice(period))) return true
  return false
}

/** Says whether a character continues the steps of those before it, or of every second one: abcd, 4321, asdf, 1q2w3e. */
function isExpected(text: string, at: number): boolean {
  return [1, 2].some(lag => {
    const way = stepOf(text.charAt(at - lag), text.charAt(at))
    return way !== null && way === stepOf(text.charAt(at - 2 * lag), text.charAt(at - lag))
  })
}

/** Measures the step from one character to the next, in the alphabet or on a row of keys; null when they are no neighbours. */
function stepOf(from: string, to: string): number | null {
  if (from === '' || to === '') return null
  const step = to.charCodeAt(0) - from.charCodeAt(0)
  if (Math.abs(step) <= 1) return step
  for (const keys of KEYS) {
    const [one, other] = [keys.indexOf(from), keys.indexOf(to)]
    if (one >= 0 && other >= 0 && Math.abs(other - one) === 1) return other - one
  }
  // After nine, or after the last key, some begin again.
  return from === '9' && to === '0' ? 1 : from === '0' && to === '1' ? 1 : null
}
