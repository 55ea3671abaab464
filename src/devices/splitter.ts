import { Buffer } from 'node:buffer'

/** A piece of a stream. */
export type StreamPiece =
  /** A whole JSON object by its brackets; whether it is JSON is for whoever parses it. */
  | { readonly is: 'object'; readonly text: string }
  /** Bytes that cannot be part of one: between objects, or an object that broke off. */
  | { readonly is: 'garbage'; readonly bytes: number; readonly why: string }

/** A message is a few hundred bytes; something this long is none. */
const MOST_BYTES = 256 * 1024
/** The first size of the buffer of an object that comes in pieces, bytes; it doubles as needed. */
const FIRST_ROOM = 1024
const MOST_DEPTH = 64

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const COMMA = 0x2c
const COLON = 0x3a

/** The last token inside an object, as far as it decides what may follow. */
const AFTER_TEXT = 1
const AFTER_BARE = 2
const AFTER_CLOSE = 3

const SPACE = flags(' \t\r\n')
/** Characters of numbers, true, false and null. */
const BARE = flags('0123456789+-.eEtrufalsn')
/** Stands between objects without being garbage: white space, and the brackets and commas of a list of them. */
const BETWEEN = flags(' \t\r\n,[]')

/**
 * Cuts a stream of bytes into JSON objects. The contract gives messages no separator, so the brackets decide: objects
 * may follow each other with or without white space, in a list, and in any chunks.
 *
 * Garbage must not swallow what follows it, so the grammar of JSON is followed far enough to see at once that an
 * object is broken (a control character in a string, a bracket where a key belongs): what comes then is looked at
 * afresh, from the byte that broke it.
 */
export function createSplitter() {
  const stack: number[] = []
  /** The object that is being read, as far as it came in earlier chunks, copied: a chunk may be one byte of a large block. */
  let held = Buffer.alloc(0)
  let size = 0
  let noise = 0
  let inText = false
  let escaped = false
  let last = 0
  let pieces: StreamPiece[] = []

  function garbage(bytes: number, why: string): void {
    pieces.push({ is: 'garbage', bytes, why })
  }

  function flushNoise(): void {
    if (noise > 0) garbage(noise, 'bytes outside of any object')
    noise = 0
  }

  function reset(): void {
    stack.length = 0
    held = Buffer.alloc(0)
    size = 0
    inText = false
    escaped = false
    last = 0
  }

  /** Says whether a value may begin here: after a colon, or in a list after its bracket or a comma. */
  function valueMayBegin(): boolean {
    return last === COLON || (stack[stack.length - 1] === OPEN_LIST && (last === OPEN_LIST || last === COMMA))
  }

  /** Looks at one byte inside an object and outside of text. False: it cannot stand here. */
  function takes(byte: number): boolean {
    if (SPACE[byte] === 1) return true
    switch (byte) {
      case QUOTE:
        if (!valueMayBegin() && last !== OPEN_OBJECT && last !== COMMA) return false
        inText = true
        return true
      case OPEN_OBJECT:
      case OPEN_LIST:
        if (!valueMayBegin() || stack.length >= MOST_DEPTH) return false
        stack.push(byte)
        last = byte
        return true
      case CLOSE_OBJECT:
      case CLOSE_LIST: {
        // In ASCII each closing bracket is its opening one plus two.
        if (stack.pop() !== byte - 2) return false
        last = AFTER_CLOSE
        return true
      }
      case COMMA:
        if (last !== AFTER_TEXT && last !== AFTER_BARE && last !== AFTER_CLOSE) return false
        last = COMMA
        return true
      case COLON:
        if (last !== AFTER_TEXT) return false
        last = COLON
        return true
      default:
        if (BARE[byte] !== 1 || (last !== AFTER_BARE && !valueMayBegin())) return false
        last = AFTER_BARE
        return true
    }
  }

  /** Looks at one byte of text. False: a control character, so the text was never closed (RFC 8259, 7). */
  function takesText(byte: number): boolean {
    if (escaped) escaped = false
    else if (byte === BACKSLASH) escaped = true
    else if (byte === QUOTE) {
      inText = false
      last = AFTER_TEXT
    }
    return byte >= 0x20
  }

  function scan(chunk: Buffer): void {
    /** Where the object that is being read begins in this chunk. */
    let start = 0
    let at = 0
    while (at < chunk.length) {
      const byte = chunk[at] as number
      if (stack.length === 0) {
        if (byte === OPEN_OBJECT) {
          flushNoise()
          start = at
          stack.push(OPEN_OBJECT)
          last = OPEN_OBJECT
        } else if (BETWEEN[byte] !== 1) noise += 1
        at += 1
        continue
      }
      const fits = inText ? takesText(byte) : takes(byte)
      if (!fits || size + at - start > MOST_BYTES) {
        garbage(size + at - start, fits ? 'an object too long' : 'an object that is not JSON')
        reset()
        // The byte itself is looked at again: it may begin the next object.
        if (byte !== OPEN_OBJECT) at += 1
        continue
      }
      at += 1
      if (stack.length > 0) continue
      const own = chunk.subarray(start, at)
      const text =
        size === 0 ? own.toString('utf8') : Buffer.concat([held.subarray(0, size), own]).toString('utf8')
      pieces.push({ is: 'object', text })
      reset()
    }
    if (stack.length === 0) return
    hold(chunk.subarray(start))
  }

  function hold(part: Buffer): void {
    if (size + part.length > held.length) {
      const larger = Buffer.alloc(Math.max(FIRST_ROOM, 2 * (size + part.length)))
      held.copy(larger, 0, 0, size)
      held = larger
    }
    part.copy(held, size)
    size += part.length
  }

  function taken(): readonly StreamPiece[] {
    const done = pieces
    pieces = []
    return done
  }

  return {
    /** Takes the next bytes, cut anywhere, and gives what is complete. */
    push(chunk: Uint8Array): readonly StreamPiece[] {
      scan(Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
      return taken()
    },
    /** The stream has ended: what is left is garbage. */
    end(): readonly StreamPiece[] {
      flushNoise()
      if (stack.length > 0) garbage(size, 'an object that was cut off')
      reset()
      return taken()
    },
    /** Bytes of memory that it holds for an object whose end has not come. */
    held: (): number => held.length,
  }
}

function flags(characters: string): Uint8Array {
  const table = new Uint8Array(256)
  for (const character of characters) table[character.charCodeAt(0)] = 1
  return table
}
