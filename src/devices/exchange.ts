import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2'
import type { Readable } from 'node:stream'
import { type Sentence, say, term, type Words } from '../language/sentence.ts'
import { type DdqMessage, parseMessage } from './message.ts'
import { type PlatformFailure, readAnswer } from './platform-api.ts'
import { BrokenStream, createSplitter } from './splitter.ts'

export interface ExchangeOptions extends Omit<ReaderOptions, 'costs'> {
  /** How long an answer may take, ms. */
  readonly answerMs: number
  /** A stream broke, or no stream is left that messages can come on. */
  readonly onEnd: (why: Words) => void
}

/** Posts a request, and reads its stream until it ends. Null: it was accepted. */
export type DdqExchange = (path: string, body: object) => Promise<PlatformFailure | null>

/** How long the body of a successful answer may take, ms: a server may answer without one, and keep the stream open. */
const EMPTY_ANSWER_MS = 1000

/** Requests on a session. Messages may come on the stream of each of them, behind its answer. */
export function createExchange(session: ClientHttp2Session, options: ExchangeOptions): DdqExchange {
  const { answerMs, onBytes, onEnd } = options
  /** Streams that messages can come on. */
  let openStreams = 0
  const reader = { ...options, costs: { useless: 0, countedAt: options.now() } }

  async function read(stream: ClientHttp2Stream, onAnswer: (text: string) => void): Promise<void> {
    openStreams += 1
    try {
      await readStream(stream, reader, onAnswer)
    } catch (error) {
      // A stream's faults have a code. Anything else is a bug, and must not look like a bad line.
      if (!(error instanceof Error && 'code' in error)) throw error
      onEnd(error instanceof BrokenStream ? error.words : term(errorCodeOf(error)))
    } finally {
      openStreams -= 1
      // The stream of the authentication may end before those of the subscriptions begin.
      setImmediate(() => openStreams === 0 && onEnd('the server ended the subscription'))
    }
  }

  /**
   * The answer on a stream: its status, and the first object on it that is no message, if there is one. A stream that
   * ends has answered; so has one that says 200 and then a message, or nothing.
   */
  function readAnswerOf(
    stream: ClientHttp2Stream,
  ): Promise<{ readonly status: number; readonly text: string }> {
    return new Promise(resolve => {
      let status = 0
      const finish = (text: string) => {
        clearTimeout(timeout)
        resolve({ status, text })
      }
      let timeout = setTimeout(finish, answerMs, '')
      stream.on('response', headers => {
        onBytes()
        status = Number(headers[constants.HTTP2_HEADER_STATUS])
        clearTimeout(timeout)
        timeout = setTimeout(finish, EMPTY_ANSWER_MS, '')
      })
      void read(stream, finish).finally(() => finish(''))
    })
  }

  return async (path, body) => {
    const { status, text } = await readAnswerOf(postRequest(session, path, body))
    if (status === 0) return { is: 'unreachable', message: 'no answer' }
    const answer = readAnswer(status, text === '' ? '{}' : text)
    return answer.ok ? null : answer.failure
  }
}

export function postRequest(session: ClientHttp2Session, path: string, body: object): ClientHttp2Stream {
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: 'POST',
    [constants.HTTP2_HEADER_PATH]: path,
    [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/json',
  })
  stream.end(JSON.stringify(body))
  return stream
}

/** The code of an error, or its name: its words may quote the request. */
export function errorCodeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'an unknown fault'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

/** Something that was received and cannot be used: what it was, without its values. */
export interface Malformed {
  /** The contract's topic that it was of; empty when it was of none. */
  readonly topic: string
  readonly fault: Sentence
  readonly shape: string
}

export interface MessageHandlers {
  /** While the promise that it gives is pending, nothing more is read. */
  readonly onMessage: (message: DdqMessage) => void | Promise<void>
  readonly onMalformed: (malformed: Malformed) => void
}

export interface ReaderOptions extends MessageHandlers {
  /** Bytes came. */
  readonly onBytes: () => void
  /** It says whether nothing more is to be handled. */
  readonly stopped: () => boolean
  /** ms since any origin, never going back. */
  readonly now: () => number
  readonly costs: StreamCosts
}

/** The cost of all streams of a connection so far. */
interface StreamCosts {
  /** Bytes of which no message was made, less those of messages, and less what is forgiven with time. */
  useless: number
  /** The time at which `useless` was counted last, ms. */
  countedAt: number
}

/** A server that sends more than this sends garbage, or objects that do not end, and the connection is ended. */
const MOST_USELESS_BYTES = 512 * 1024
const FORGIVEN_BYTES_A_SECOND = 1024
/** The cost of looking at an object, in bytes, besides its own; and the bytes that a message may have around it. */
const COST_OF_AN_OBJECT = 64

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
  const { costs } = options
  const splitter = createSplitter(options.now)
  let messages = 0
  let bytes = 0
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      options.onBytes()
      countUseless(costs, chunk.length, options.now())
      bytes += chunk.length
      for (const text of splitter.push(chunk)) {
        await handleObject(text, options, onAnswer)
        messages += 1
        if (messages >= MESSAGES_A_TURN || bytes >= BYTES_A_TURN) {
          await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
          messages = 0
          bytes = 0
        }
        if (options.stopped()) return
      }
    }
  } catch (error) {
    if (!(error instanceof BrokenStream)) throw error
    options.onMalformed({ topic: '', fault: term(error.code), shape: '' })
    throw new BrokenStream(error.code, say('the server sends {what}', { what: term(error.code) }))
  }
}

/** @param bytes what came; negative: of which a message was made. @param now ms */
function countUseless(costs: StreamCosts, bytes: number, now: number): void {
  const forgiven = ((now - costs.countedAt) / 1000) * FORGIVEN_BYTES_A_SECOND
  costs.countedAt = now
  costs.useless = Math.max(0, costs.useless + bytes - forgiven)
  if (costs.useless > MOST_USELESS_BYTES) throw new BrokenStream('a flood of what is no message')
}

function handleObject(
  text: string,
  { onMessage, onMalformed, now, costs }: ReaderOptions,
  onAnswer: (text: string) => void,
): void | Promise<void> {
  const reading = parseMessage(text)
  // A platform whose messages changed is not hostile: what has a topic is one, and its bytes were not useless.
  const isUseful = reading.is === 'message' || (reading.is === 'malformed' && reading.topic !== '')
  countUseless(costs, isUseful ? -Buffer.byteLength(text) - COST_OF_AN_OBJECT : COST_OF_AN_OBJECT, now())
  if (reading.is === 'malformed') return onMalformed(reading)
  if (reading.is === 'other') return onAnswer(text)
  onAnswer('')
  return onMessage(reading.message)
}
