import type { Readable } from 'node:stream'
import { type DdqMessage, parseMessage } from './message.ts'
import { createSplitter, type StreamPiece } from './splitter.ts'

/** Something that was received and cannot be used: what it was, without its values. */
export interface Malformed {
  /** The contract's topic that it was of; empty when it was of none. */
  readonly topic: string
  readonly fault: string
  readonly shape: string
}

export interface ReaderOptions {
  /** While the promise that it gives is pending, nothing more is read. */
  readonly onMessage: (message: DdqMessage) => void | Promise<void>
  readonly onMalformed: (malformed: Malformed) => void
  /** Bytes came. */
  readonly onBytes: () => void
  /** Nothing more is to be handled. */
  readonly stopped: () => boolean
  /** ms since any origin, never going back. */
  readonly now: () => number
  /** The cost of all streams of a connection so far. */
  readonly costs: StreamCosts
}

/** Counted over all streams of a connection. */
export interface StreamCosts {
  /** Bytes of memory that are held for objects whose ends have not come. */
  unfinished: number
  /** Bytes of which no message was made, less those of messages, and less what is forgiven with time. */
  useless: number
  /** When `useless` was counted last, ms. */
  countedAt: number
}

/** An object holds half a megabyte at most; some hundred streams must not each do so. */
const MOST_UNFINISHED_BYTES = 8 * 1024 * 1024
/** With more than this, the connection is ended: the server sends garbage. */
const MOST_USELESS_BYTES = 512 * 1024
const FORGIVEN_BYTES_A_SECOND = 1024
/** The cost of looking at a piece, in bytes, besides its own; and the bytes that a message may have around it. */
const COST_OF_A_PIECE = 64

/** The work of one turn of the event loop. Others get their turn in between, so that callbacks are answered beside any flood. */
const MESSAGES_A_TURN = 32
const BYTES_A_TURN = 64 * 1024
const PAUSE_MS = 1

/**
 * Reads a stream of DDQ to its end.
 *
 * A slow `onMessage` makes the stream wait: octets that are not read are not acknowledged in its window, and the other side
 * stops sending (RFC 9113, 5.2). So memory is bounded by the window.
 *
 * @param onAnswer called for what comes first: the text of an object that is no message, or '' for a message.
 */
export async function readStream(
  stream: Readable,
  options: ReaderOptions,
  onAnswer: (text: string) => void,
): Promise<void> {
  const splitter = createSplitter()
  const { costs } = options
  let messages = 0
  let bytes = 0
  let held = 0
  try {
    for await (const chunk of stream) {
      options.onBytes()
      countUseless(costs, (chunk as Buffer).length, options.now())
      const pieces = splitter.push(chunk as Buffer)
      costs.unfinished += splitter.held() - held
      held = splitter.held()
      if (costs.unfinished > MOST_UNFINISHED_BYTES) throw new Costly('objects without an end')
      bytes += (chunk as Buffer).length
      for (const piece of pieces) {
        await handlePiece(piece, options, onAnswer)
        messages += 1
        if (messages >= MESSAGES_A_TURN || bytes >= BYTES_A_TURN) {
          await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
          messages = 0
          bytes = 0
        }
        if (options.stopped()) return
      }
    }
    for (const piece of splitter.end()) await handlePiece(piece, options, onAnswer)
  } finally {
    costs.unfinished -= held
  }
}

/** The server wears us out. */
class Costly extends Error {
  readonly code: string
  constructor(what: string) {
    super(what)
    this.code = `the server sends ${what}`
  }
}

/** @param bytes what came; negative: of which a message was made. @param now ms */
function countUseless(costs: StreamCosts, bytes: number, now: number): void {
  const forgiven = ((now - costs.countedAt) / 1000) * FORGIVEN_BYTES_A_SECOND
  costs.countedAt = now
  costs.useless = Math.max(0, costs.useless + bytes - forgiven)
  if (costs.useless > MOST_USELESS_BYTES) throw new Costly('a flood of what is no message')
}

function handlePiece(
  piece: StreamPiece,
  { onMessage, onMalformed, costs, now }: ReaderOptions,
  onAnswer: (text: string) => void,
): void | Promise<void> {
  const reading = piece.is === 'object' ? parseMessage(piece.text) : null
  // A platform whose messages changed is not hostile: what has a topic is one, and its bytes were not useless.
  const isUseful = reading?.is === 'message' || (reading?.is === 'malformed' && reading.topic !== '')
  const worth =
    isUseful && piece.is === 'object' ? Buffer.byteLength(piece.text) + COST_OF_A_PIECE : -COST_OF_A_PIECE
  countUseless(costs, -worth, now())
  if (piece.is === 'garbage')
    return onMalformed({ topic: '', fault: piece.why, shape: `${piece.bytes} bytes` })
  if (reading === null) return
  if (reading.is === 'malformed') return onMalformed(reading)
  if (reading.is === 'other') return onAnswer(piece.text)
  onAnswer('')
  return onMessage(reading.message)
}
