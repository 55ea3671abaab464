import { createHash } from 'node:crypto'

/**
 * Describes a secret so that people can compare it: by its length and six hex digits of its SHA-256. A Token with #, quotes
 * or $ reads differently in a dotenv file and in a container's env file; this shows it. `printf %s TOKEN | sha256sum` gives the
 * same digits.
 */
export function fingerprint(secret: string): string {
  const digits = createHash('sha256').update(secret, 'utf8').digest('hex').slice(0, 6)
  return `${secret.length} characters, fingerprint ${digits}`
}
