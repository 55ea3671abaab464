import { Buffer } from 'node:buffer'
import { ToldError, term, type Words } from '../language/sentence.ts'

/** A message is a few hundred bytes; something this long is none. */
const MOST_BYTES = 256 * 1024
/** The first size of the buffer of an object that comes in pieces, bytes; it doubles as needed. */
const FIRST_ROOM = 1024
const MOST_DEPTH = 64
/** An object that was begun so long ago, ms, has lost its end, and what comes now is no part of it. */
const MOST_MS = 30_000

const [SPACE = 0, QUOTE, BACKSLASH] = Buffer.from(' "\\')
const OPENING = new Set(Buffer.from('{['))
const CLOSING = new Set(Buffer.from('}]'))
const [OPEN_OBJECT] = Buffer.from('{')
/** White space, and the brackets and commas of a list of objects. */
const BETWEEN = new Set(Buffer.from(' \t\r\n,[]'))

/** What came is no stream of JSON objects. Where its next object begins, nobody can tell. */
export class BrokenStream extends ToldError {
  /** What is wrong, without a value. */
  readonly code: string
  constructor(code: string, words: Words = term(code)) {
    super(words)
    this.code = code
  }
}

/**
 * Cuts a stream of bytes into JSON objects. The contract gives messages no separator, so their brackets are counted: objects
 * may follow each other with or without white space, in a list, and in any chunks. Whether one is JSON is for whoever parses it.
 *
 * @param now ms since any origin, never going back.
 */
export function createSplitter(now: () => number) {
  let depth = 0
  let inText = false
  let escaped = false
  let heldSince = 0
  /** The object that is being read, as far as it came in earlier chunks, copied: a chunk may be one byte of a large block. */
  let held = Buffer.alloc(0)
  let size = 0

  function hold(part: Buffer): void {
    if (size === 0) heldSince = now()
    if (size + part.length > held.length) {
      const larger = Buffer.alloc(Math.max(FIRST_ROOM, 2 * (size + part.length)))
      held.copy(larger, 0, 0, size)
      held = larger
    }
    part.copy(held, size)
    size += part.length
  }

  function take(own: Buffer): string {
    const text = size === 0 ? own.toString() : Buffer.concat([held.subarray(0, size), own]).toString()
    held = Buffer.alloc(0)
    size = 0
    return text
  }

  return {
    /**
     * Takes the next bytes, cut anywhere, and gives the objects that are complete, one by one.
     * @throws BrokenStream
     */
    *push(chunk: Buffer): Generator<string, void> {
      /** Where the object that is being read begins in this chunk. */
      let start = 0
      if (depth > 0 && now() - heldSince > MOST_MS) throw new BrokenStream('an object without an end')
      for (let at = 0; at < chunk.length; at += 1) {
        const byte = chunk[at] as number
        if (depth === 0) {
          start = at
          if (byte === OPEN_OBJECT) depth = 1
          else if (!BETWEEN.has(byte)) throw new BrokenStream('bytes outside of any object')
        } else if (escaped) escaped = false
        else if (inText) {
          // RFC 8259, 7: the text was never closed.
          if (byte < SPACE) throw new BrokenStream('an object that is not JSON')
          escaped = byte === BACKSLASH
          inText = byte !== QUOTE
        } else if (byte === QUOTE) inText = true
        else if (OPENING.has(byte)) {
          depth += 1
          if (depth > MOST_DEPTH) throw new BrokenStream('an object too deep')
        } else if (CLOSING.has(byte)) {
          depth -= 1
          if (depth === 0) yield take(chunk.subarray(start, at + 1))
        }
        if (depth > 0 && size + at - start >= MOST_BYTES) throw new BrokenStream('an object too long')
      }
      if (depth > 0) hold(chunk.subarray(start))
    },
  }
}
