import { randomInt } from 'node:crypto'

/**
 * A loopback address for one server: once that is closed, nobody is there. A free port of 127.0.0.1 goes to whoever asks for any
 * next, in this process or in another one of the same run.
 */
export function ownHost(): string {
  return `127.${randomInt(64, 255)}.${randomInt(256)}.${randomInt(256)}`
}
