import { createHash, randomInt } from 'node:crypto'
import { type Sentence, say } from '../language/sentence.ts'
import { type Command, readArguments } from './command.ts'

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const LENGTH = 32

/**
 * Makes a Token of 190 random bits. Letters and digits only: #, quotes, $ and spaces read differently in a dotenv file, in
 * a container's env file and in a shell. It ends in a letter: the platform signs Token and timestamp without
 * anything between them.
 * @param below gives a whole random number from 0 to below its argument.
 */
export function createToken(below: (limit: number) => number = randomInt): string {
  const characters = `${LETTERS}0123456789`
  const pick = (from: string) => from.charAt(below(from.length))
  return Array.from({ length: LENGTH }, (_, at) => pick(at === LENGTH - 1 ? LETTERS : characters)).join('')
}

export const token: Command = async (argv, io) => {
  readArguments(argv, {})
  io.stdout.write(`${createToken()}\n`)
  return 0
}

/**
 * Describes a secret so that people can compare it: by its length and six hex digits of its SHA-256. A Token with #, quotes
 * or $ reads differently in a dotenv file and in a container's env file; this shows it. `printf %s TOKEN | sha256sum` gives the
 * same digits.
 */
export function fingerprint(secret: string): Sentence {
  const digits = createHash('sha256').update(secret, 'utf8').digest('hex').slice(0, 6)
  return say('{n} characters, fingerprint {digits}', { n: secret.length, digits })
}
