import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
} from 'node:http2'
import { readAnswer } from '../platform/answer.ts'
import type { Credential } from '../platform/credential.ts'
import { describeFailure, type Failure, refusesCredential } from '../platform/result.ts'
import { type Heartbeat, startHeartbeat } from './heartbeat.ts'
import type { DdqMessage } from './message.ts'
import { type Malformed, readStream } from './reader.ts'

export type { Malformed }

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
  /** How many of the topics. */
  readonly onSubscribed: (topics: number) => void
  /** A topic is refused, though others are not: the connection goes on without it. */
  readonly onRefused: (topic: string, why: string) => void
  /** ms since any origin, never going back. */
  readonly now: () => number
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
/** A server that says yes without a body gets so long to send one, ms. */
const EMPTY_ANSWER_MS = 1000

/** One connection: opens, authenticates, subscribes, and hands on messages until it ends. */
export function openConnection(options: ConnectionOptions): Connection {
  const { endpoint, timings, appId, credential, topics, now, onMessage, onMalformed } = options
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
    pulse = startHeartbeat({
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
    if (!token.ok) return fail('refused', `log in: ${describeFailure(token.failure)}`)
    const proof = { app_id: appId, access_token: token.value, auth_type: 'accesskey' }
    const authenticated = await ask(endpoint.authenticatePath, proof)
    if (authenticated !== null) return refuse('authenticate', authenticated, token.value)
    const answers = await Promise.all(topics.map(topic => ask(endpoint.subscribePath, { topic })))
    const refused = topics.flatMap((topic, at) => {
      const failure = answers[at] ?? null
      return failure === null ? [] : [{ topic, failure }]
    })
    const unheard = refused.find(({ failure }) => failure.is === 'unreachable')
    const fatal = unheard ?? (refused.length === topics.length ? refused[0] : undefined)
    if (fatal !== undefined) return refuse(`subscribe to ${fatal.topic}`, fatal.failure, token.value)
    // The credential is good, as others were agreed to: it is the topic that is not ours, or unknown.
    for (const { topic, failure } of refused) options.onRefused(topic, describeFailure(failure))
    options.onSubscribed(topics.length - refused.length)
  }

  function refuse(doing: string, failure: Failure, token: string): void {
    const logInAgain = refusesCredential(failure)
    if (logInAgain) credential.refused(token)
    fail(
      failure.is === 'unreachable' ? 'closed' : 'refused',
      `${doing}: ${describeFailure(failure)}`,
      logInAgain,
    )
  }

  /** Posts, and reads what comes on that stream until it ends. Null: it was agreed to. */
  async function ask(path: string, body: object): Promise<Failure | null> {
    const { status, text } = await answered(post(session, path, body))
    if (status === 0) return { is: 'unreachable', message: 'no answer' }
    const answer = readAnswer(status, text === '' ? '{}' : text, 'top-level')
    return answer.ok ? null : answer.failure
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

  async function read(stream: ClientHttp2Stream, answer: (text: string) => void): Promise<void> {
    reading += 1
    try {
      await readStream(
        stream,
        { onMessage, onMalformed, onBytes: () => pulse.heard(), stopped: () => stopped },
        answer,
      )
    } catch (error) {
      // A stream's faults have a code. Anything else is a bug, and must not look like a bad line.
      if (!(error instanceof Error && 'code' in error)) throw error
      fail('closed', codeOf(error))
    } finally {
      reading -= 1
      // An answered authentication may end; without any stream no message can come.
      if (reading === 0)
        setImmediate(() => reading === 0 && fail('closed', 'the server ended the subscription'))
    }
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
