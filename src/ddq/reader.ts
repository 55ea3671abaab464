import type { Readable } from 'node:stream'
import { type DdqMessage, parseMessage } from './message.ts'
import { createSplitter, type Piece } from './splitter.ts'

/** Something that was received and cannot be used: what it was, without its values. */
export interface Malformed {
  /** Which of the contract's topics it was of; empty when none. */
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
}

/** Messages that are handled in one turn of the event loop, so that others get theirs. */
const MESSAGES_A_TURN = 32

/**
 * Reads a stream of DDQ to its end.
 *
 * Whoever is slow to take a message makes the stream wait: what is not read is not acknowledged in its window, and the
 * other side stops sending (RFC 9113, 5.2). So memory is bounded by the window.
 *
 * @param onAnswer called for what comes first: the text of an object that is no message, or '' for a message.
 */
export async function readStream(
  stream: Readable,
  options: ReaderOptions,
  onAnswer: (text: string) => void,
): Promise<void> {
  const splitter = createSplitter()
  let handled = 0
  for await (const chunk of stream) {
    options.onBytes()
    for (const piece of splitter.push(chunk as Buffer)) {
      await handlePiece(piece, options, onAnswer)
      handled += 1
      if (handled % MESSAGES_A_TURN === 0) await new Promise(resolve => setImmediate(resolve))
      if (options.stopped()) return
    }
  }
  for (const piece of splitter.end()) await handlePiece(piece, options, onAnswer)
}

function handlePiece(
  piece: Piece,
  { onMessage, onMalformed }: ReaderOptions,
  onAnswer: (text: string) => void,
): void | Promise<void> {
  if (piece.is === 'garbage')
    return onMalformed({ topic: '', fault: piece.why, shape: `${piece.bytes} bytes` })
  const reading = parseMessage(piece.text)
  if (reading.is === 'malformed') return onMalformed(reading)
  if (reading.is === 'other') return onAnswer(piece.text)
  onAnswer('')
  return onMessage(reading.message)
}
