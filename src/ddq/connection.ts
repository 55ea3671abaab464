import { connect as connectHttp2 } from 'node:http2'
import type { Credential } from '../platform/credential.ts'
import { describeFailure, type Failure, refusesCredential } from '../platform/result.ts'
import { codeOf, createExchange, type Exchange } from './exchange.ts'
import { type Heartbeat, type RunningHeartbeat, startHeartbeat } from './heartbeat.ts'
import type { ReaderOptions } from './reader.ts'

/** Where DDQ is, and its paths and heartbeat. */
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

export interface ConnectionOptions extends Pick<ReaderOptions, 'onMessage' | 'onMalformed'> {
  readonly endpoint: DdqEndpoint
  readonly timings: Timings
  readonly appId: string
  readonly credential: Credential
  readonly topics: readonly string[]
  /** @param topics how many of them were accepted. */
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

/** A stream's window: how much the other side may send before we read it. Bounds memory, and is plenty for a fast line. */
const WINDOW_BYTES = 512 * 1024

/** One connection: opens, authenticates, subscribes, and hands on messages until it ends. */
export function openConnection(options: ConnectionOptions): Connection {
  const { endpoint, timings, now, onMessage, onMalformed } = options
  const { promise: over, resolve: finish } = Promise.withResolvers<End>()
  const fail = (is: End['is'], why: string) => finish({ is, why, logInAgain: false })
  let connected = false
  let stopped = false
  let heartbeat: RunningHeartbeat | undefined

  const session = connectHttp2(endpoint.origin, {
    settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
    ca: endpoint.ca,
  })
  session.on('error', error => fail(connected ? 'closed' : 'unreachable', codeOf(error)))
  session.on('close', () => fail('closed', 'the connection was closed'))
  session.on('goaway', code => fail('closed', `the server said goodbye (GOAWAY ${code})`))
  const connectTimeout = setTimeout(fail, timings.answerMs, 'unreachable', 'no connection in time')
  const exchange = createExchange(session, {
    answerMs: timings.answerMs,
    onMessage,
    onMalformed,
    onBytes: () => heartbeat?.recordActivity(),
    stopped: () => stopped,
    onEnd: why => fail('closed', why),
  })

  session.on('connect', () => {
    // It may still come after the session was told to end.
    if (stopped) return
    connected = true
    clearTimeout(connectTimeout)
    // The window of the whole connection is not ours to bound by: Node gives it back as bytes arrive.
    session.setLocalWindowSize(WINDOW_BYTES * 2)
    heartbeat = startHeartbeat({
      session,
      heartbeat: endpoint.heartbeat,
      everyMs: timings.heartbeatMs,
      silenceMs: timings.silenceMs,
      now,
      onSilence: () => fail('silent', `nothing was heard for ${timings.silenceMs} ms`),
    })
    subscribe(options, exchange).then(
      end => end !== null && finish(end),
      (error: unknown) => fail('closed', codeOf(error)),
    )
  })

  const ended = over.then(end => {
    clearTimeout(connectTimeout)
    stopped = true
    heartbeat?.stop()
    session.destroy()
    return end
  })
  return { ended, stop: () => fail('stopped', 'told to end') }
}

/** Logs in, authenticates and subscribes to each topic. @returns why the connection must end; null: it is subscribed. */
async function subscribe(options: ConnectionOptions, exchange: Exchange): Promise<End | null> {
  const { endpoint, appId, credential, topics } = options
  const login = await credential.token()
  if (!login.ok) return { is: 'refused', why: `log in: ${describeFailure(login.failure)}`, logInAgain: false }
  const token = login.value
  const end = (doing: string, failure: Failure): End => {
    const logInAgain = refusesCredential(failure)
    if (logInAgain) credential.refused(token)
    const is = failure.is === 'unreachable' ? 'closed' : 'refused'
    return { is, why: `${doing}: ${describeFailure(failure)}`, logInAgain }
  }
  const proof = { app_id: appId, access_token: token, auth_type: 'accesskey' }
  const notAuthenticated = await exchange(endpoint.authenticatePath, proof)
  if (notAuthenticated !== null) return end('authenticate', notAuthenticated)
  const failures = await Promise.all(topics.map(topic => exchange(endpoint.subscribePath, { topic })))
  const refused = topics.flatMap((topic, at) => {
    const failure = failures[at] ?? null
    return failure === null ? [] : [{ topic, failure }]
  })
  const unanswered = refused.find(({ failure }) => failure.is === 'unreachable')
  const fatal = unanswered ?? (refused.length === topics.length ? refused[0] : undefined)
  if (fatal !== undefined) return end(`subscribe to ${fatal.topic}`, fatal.failure)
  // The credential is good, as other topics were accepted: this topic is not ours, or unknown.
  for (const { topic, failure } of refused) options.onRefused(topic, describeFailure(failure))
  options.onSubscribed(topics.length - refused.length)
  return null
}
