import { randomBytes } from 'node:crypto'

/** 32 random characters; the last one is no digit, because a Token is followed by a timestamp when it is signed. */
export function randomSecret(): string {
  return `${randomBytes(24).toString('base64url').slice(0, 31)}T`
}
