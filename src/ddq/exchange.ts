import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2'
import { readAnswer } from '../platform/answer.ts'
import type { PlatformFailure } from '../platform/result.ts'
import { type ReaderOptions, readStream } from './reader.ts'

export interface ExchangeOptions extends Omit<ReaderOptions, 'costs'> {
  /** How long an answer may take, ms. */
  readonly answerMs: number
  /** A stream broke, or no stream is left that messages can come on. */
  readonly onEnd: (why: string) => void
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
  const costs = { unfinished: 0, useless: 0, countedAt: options.now() }

  async function read(stream: ClientHttp2Stream, onAnswer: (text: string) => void): Promise<void> {
    openStreams += 1
    try {
      await readStream(stream, { ...options, costs }, onAnswer)
    } catch (error) {
      // A stream's faults have a code. Anything else is a bug, and must not look like a bad line.
      if (!(error instanceof Error && 'code' in error)) throw error
      onEnd(errorCodeOf(error))
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
        clearTimeout(limit)
        resolve({ status, text })
      }
      let limit = setTimeout(finish, answerMs, '')
      stream.on('response', headers => {
        onBytes()
        status = Number(headers[constants.HTTP2_HEADER_STATUS])
        clearTimeout(limit)
        limit = setTimeout(finish, EMPTY_ANSWER_MS, '')
      })
      void read(stream, finish).finally(() => finish(''))
    })
  }

  return async (path, body) => {
    const { status, text } = await readAnswerOf(postRequest(session, path, body))
    if (status === 0) return { is: 'unreachable', message: 'no answer' }
    const answer = readAnswer(status, text === '' ? '{}' : text, 'top-level')
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
