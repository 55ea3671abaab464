import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
} from 'node:http2'
import { readAnswer } from '../platform/answer.ts'
import type { Credential } from '../platform/credential.ts'
import { inWords, refusesCredential } from '../platform/result.ts'
import { type Heartbeat, startPulse } from './heartbeat.ts'
import { type DdqMessage, readMessage } from './message.ts'
import { createSplitter } from './splitter.ts'

/** Where DDQ is and how it is spoken to. */
export interface DdqEndpoint {
  /** `http://host:80` for HTTP/2 in the clear, by prior knowledge (RFC 9113, 3.3); `https://…` over TLS. */
  readonly origin: string
  /** The contract publishes neither path. */
  readonly authenticatePath: string
  readonly subscribePath: string
  readonly heartbeat: Heartbeat
  /** PEM of the authority to trust, for TLS; the usual ones when absent. */
  readonly ca?: string
}

export interface Timings {
  readonly heartbeatMs: number
  /** Silence after which a connection is dead. */
  readonly silenceMs: number
  /** Between two tries to connect, give or take a fifth. */
  readonly reconnectMs: number
  /** How long connecting, and each answer, may take. */
  readonly answerMs: number
}

export interface ConnectionOptions {
  readonly endpoint: DdqEndpoint
  readonly timings: Timings
  readonly appId: string
  readonly credential: Credential
  readonly topics: readonly string[]
  /** While the promise that it gives is pending, nothing more is read: the platform is slowed down. */
  readonly onMessage: (message: DdqMessage) => void | Promise<void>
  readonly onMalformed: (malformed: Malformed) => void
  readonly onSubscribed: () => void
  /** ms since any origin, never going back. */
  readonly now: () => number
}

/** Something that was received and cannot be used: what it was, without its values. */
export interface Malformed {
  /** Which of the contract's topics it was of; empty when none. */
  readonly topic: string
  readonly fault: string
  readonly shape: string
}

/** Why a connection ended. */
export interface End {
  readonly is: 'unreachable' | 'refused' | 'silent' | 'closed' | 'stopped'
  readonly why: string
  /** The credential was refused, and a new one may be accepted. */
  readonly logInAgain: boolean
}

export interface Connection {
  /** Resolves when it is over; never rejects. */
  readonly ended: Promise<End>
  stop(): void
}

/** A stream's window: what the other side may send before we read it. Bounds memory, and is plenty for a fast line. */
const WINDOW_BYTES = 512 * 1024
/** Messages that are handled in one turn of the event loop, so that others get theirs. */
const MESSAGES_A_TURN = 32
/** A server that says yes without a body gets so long to send one, ms. */
const EMPTY_ANSWER_MS = 1000

/** One connection: opens, authenticates, subscribes, and hands on messages until it ends. */
export function openConnection(options: ConnectionOptions): Connection {
  const { endpoint, timings, appId, credential, topics, now } = options
  let finish: (end: End) => void = () => {}
  const over = new Promise<End>(resolve => {
    finish = resolve
  })
  let stopped = false
  const session = connectHttp2(endpoint.origin, {
    settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
    ...(endpoint.ca === undefined ? {} : { ca: endpoint.ca }),
  })
  const fail = (is: End['is'], why: string, logInAgain = false) => finish({ is, why, logInAgain })

  let connected = false
  session.on('error', error => fail(connected ? 'closed' : 'unreachable', codeOf(error)))
  session.on('close', () => fail('closed', 'the connection was closed'))
  session.on('goaway', code => fail('closed', `the server said goodbye (GOAWAY ${code})`))
  const tooLong = setTimeout(() => fail('unreachable', 'no connection in time'), timings.answerMs)
  let pulse = { heard: () => {}, stop: () => {} }
  /** Streams that messages can come on. */
  let reading = 0

  session.on('connect', () => {
    // It may still come after the session was told to end.
    if (stopped) return
    connected = true
    clearTimeout(tooLong)
    // The window of the whole connection is not ours to bound by: Node gives it back as bytes arrive.
    session.setLocalWindowSize(WINDOW_BYTES * 2)
    pulse = startPulse({
      session,
      heartbeat: endpoint.heartbeat,
      everyMs: timings.heartbeatMs,
      silenceMs: timings.silenceMs,
      now,
      onSilence: () => fail('silent', `nothing was heard for ${timings.silenceMs} ms`),
    })
    begin().catch((error: unknown) => fail('closed', codeOf(error)))
  })

  async function begin(): Promise<void> {
    const token = await credential.token()
    if (!token.ok) return fail('refused', `log in: ${inWords(token.failure)}`)
    const proof = { app_id: appId, access_token: token.value, auth_type: 'accesskey' }
    if (!(await agreed('authenticate', endpoint.authenticatePath, proof, token.value))) return
    const answers = await Promise.all(
      topics.map(topic => agreed(`subscribe to ${topic}`, endpoint.subscribePath, { topic }, token.value)),
    )
    if (answers.every(Boolean)) options.onSubscribed()
  }

  /** Posts, and reads what comes on that stream until it ends. False: refused, and the connection is over. */
  async function agreed(doing: string, path: string, body: object, token: string): Promise<boolean> {
    const stream = post(session, path, body)
    const { status, text } = await answered(stream)
    if (status === 0) return (fail('closed', `${doing}: no answer`), false)
    const answer = readAnswer(status, text === '' ? '{}' : text, 'top-level')
    if (answer.ok) return true
    const refused = refusesCredential(answer.failure)
    if (refused) credential.refused(token)
    fail('refused', `${doing}: ${inWords(answer.failure)}`, refused)
    return false
  }

  /**
   * The answer on a stream: its status, and the first object on it that is no message, if there is one. A stream that
   * ends has answered; so has one that says 200 and then a message, or nothing.
   */
  function answered(stream: ClientHttp2Stream): Promise<{ readonly status: number; readonly text: string }> {
    return new Promise(resolve => {
      let status = 0
      const done = (text: string) => {
        clearTimeout(limit)
        resolve({ status, text })
      }
      let limit = setTimeout(done, timings.answerMs, '')
      stream.on('response', headers => {
        pulse.heard()
        status = Number(headers[constants.HTTP2_HEADER_STATUS])
        clearTimeout(limit)
        limit = setTimeout(done, EMPTY_ANSWER_MS, '')
      })
      void read(stream, done).finally(() => done(''))
    })
  }

  /** Reads a stream to its end. Pausing it is all it takes to slow the other side down: its window is not given back. */
  async function read(stream: ClientHttp2Stream, answer: (text: string) => void): Promise<void> {
    const splitter = createSplitter()
    let handled = 0
    reading += 1
    try {
      for await (const chunk of stream) {
        pulse.heard()
        for (const piece of splitter.push(chunk as Buffer)) {
          if (piece.is === 'garbage') malformedBytes(piece.bytes, piece.why)
          else await take(piece.text, answer)
          handled += 1
          if (handled % MESSAGES_A_TURN === 0) await new Promise(resolve => setImmediate(resolve))
          if (stopped) return
        }
      }
      for (const piece of splitter.end()) if (piece.is === 'garbage') malformedBytes(piece.bytes, piece.why)
    } catch (error) {
      fail('closed', codeOf(error))
    } finally {
      reading -= 1
      // An answered authentication may end; without any stream no message can come.
      if (reading === 0)
        setImmediate(() => reading === 0 && fail('closed', 'the server ended the subscription'))
    }
  }

  function malformedBytes(bytes: number, fault: string): void {
    options.onMalformed({ topic: '', fault, shape: `${bytes} bytes` })
  }

  function take(text: string, answer: (text: string) => void): void | Promise<void> {
    const reading = readMessage(text)
    if (reading.is === 'message') {
      answer('')
      return options.onMessage(reading.message)
    }
    if (reading.is === 'other') answer(text)
    else options.onMalformed(reading)
  }

  const ended = over.then(end => {
    clearTimeout(tooLong)
    stopped = true
    pulse.stop()
    session.destroy()
    return end
  })
  return { ended, stop: () => fail('stopped', 'told to end') }
}

function post(session: ClientHttp2Session, path: string, body: object): ClientHttp2Stream {
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: 'POST',
    [constants.HTTP2_HEADER_PATH]: path,
    [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/json',
  })
  stream.end(JSON.stringify(body))
  return stream
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'an unknown fault'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
