import { hash } from 'node:crypto'

/** Hashes a secret by SHA-256, since the comparison in constant time (timingSafeEqual) takes values of equal length only. */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}
