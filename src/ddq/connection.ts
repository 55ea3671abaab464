import { type ClientHttp2Session, type ClientSessionOptions, connect as connectHttp2 } from 'node:http2'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import type { Credential } from '../platform/credential.ts'
import { describeFailure, type PlatformFailure, refusesCredential } from '../platform/result.ts'
import { createExchange, type DdqExchange, errorCodeOf } from './exchange.ts'
import { createFrameGuard, guardSocket } from './frame-guard.ts'
import { type Heartbeat, startHeartbeat } from './heartbeat.ts'
import type { ReaderOptions } from './reader.ts'

/** The address of DDQ, its paths and its heartbeat. */
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

export interface ConnectionEnd {
  readonly is: 'unreachable' | 'refused' | 'silent' | 'closed' | 'stopped'
  readonly why: string
  /** The credential was refused, and a new one may be accepted. */
  readonly logInAgain: boolean
}

/**
 * A stream's window: how much the other side may send before we read it. All of them together bound what waits to be read;
 * one alone is plenty for a fast line.
 */
const WINDOWS_BYTES = 16 * 1024 * 1024
const LARGEST_WINDOW_BYTES = 512 * 1024
const SMALLEST_WINDOW_BYTES = 16 * 1024

/**
 * One connection: opens, authenticates, subscribes, and hands on messages until it ends.
 * @returns `ended` resolves when it is over, and never rejects.
 */
export function openConnection(options: ConnectionOptions) {
  const { endpoint, timings, now } = options
  const { promise: over, resolve: finish } = Promise.withResolvers<ConnectionEnd>()
  const fail: Fail = (is, why) => finish({ is, why, logInAgain: false })
  let stop = (): void => {}
  const socket = openSocket(endpoint)
  const connectTimeout = setTimeout(fail, timings.answerMs, 'unreachable', 'no connection in time')
  let connected = false
  socket.on('error', error => fail(connected ? 'closed' : 'unreachable', errorCodeOf(error)))
  socket.once('close', () => fail(connected ? 'closed' : 'unreachable', 'the connection was closed'))
  socket.once(isSecure(endpoint) ? 'secureConnect' : 'connect', () => {
    clearTimeout(connectTimeout)
    connected = true
    if (isSecure(endpoint) && !('alpnProtocol' in socket && socket.alpnProtocol === 'h2'))
      return fail('unreachable', 'the server does not speak HTTP/2')
    const guarded = guardSocket(socket, createFrameGuard(now), fault =>
      fail('closed', `the server sends ${fault}`),
    )
    stop = runSession(connectHttp2(endpoint.origin, sessionOptions(options, guarded)), options, fail, finish)
  })
  const ended = over.then(end => {
    clearTimeout(connectTimeout)
    stop()
    socket.destroy()
    return end
  })
  return { ended, stop: () => fail('stopped', 'told to end') }
}

type Fail = (is: ConnectionEnd['is'], why: string) => void

function isSecure({ origin }: DdqEndpoint): boolean {
  return origin.startsWith('https:')
}

function openSocket(endpoint: DdqEndpoint): Socket {
  const { hostname, port } = new URL(endpoint.origin)
  const host = hostname.replace(/^\[|\]$/g, '')
  if (!isSecure(endpoint)) return connectTcp({ host, port: Number(port) || 80 })
  const servername = isIP(host) === 0 ? host : ''
  return connectTls({ host, port: Number(port) || 443, servername, ALPNProtocols: ['h2'], ca: endpoint.ca })
}

function sessionOptions({ topics }: ConnectionOptions, socket: Duplex): ClientSessionOptions {
  const share = Math.floor(WINDOWS_BYTES / (topics.length + 1))
  const initialWindowSize = Math.max(SMALLEST_WINDOW_BYTES, Math.min(LARGEST_WINDOW_BYTES, share))
  return { settings: { enablePush: false, initialWindowSize }, createConnection: () => socket }
}

/** Subscribes over a session and keeps it alive. @returns what ends it */
function runSession(
  session: ClientHttp2Session,
  options: ConnectionOptions,
  fail: Fail,
  finish: (end: ConnectionEnd) => void,
): () => void {
  const { endpoint, timings, now, onMessage, onMalformed } = options
  let stopped = false
  let heartbeat: ReturnType<typeof startHeartbeat> | undefined
  session.on('error', error => fail('closed', errorCodeOf(error)))
  session.on('close', () => fail('closed', 'the connection was closed'))
  session.on('goaway', code => fail('closed', `the server said goodbye (GOAWAY ${code})`))
  const exchange = createExchange(session, {
    answerMs: timings.answerMs,
    onMessage,
    onMalformed,
    now,
    onBytes: () => heartbeat?.recordActivity(),
    stopped: () => stopped,
    onEnd: why => fail('closed', why),
  })
  session.on('connect', () => {
    // It may still come after the session was told to end.
    if (stopped) return
    // The window of the whole connection is not ours to bound by: Node gives it back as bytes arrive.
    session.setLocalWindowSize(LARGEST_WINDOW_BYTES * 2)
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
      (error: unknown) => fail('closed', errorCodeOf(error)),
    )
  })
  return () => {
    stopped = true
    heartbeat?.stop()
    session.destroy()
  }
}

/** Logs in, authenticates and subscribes to each topic. @returns why the connection must end; null: it is subscribed. */
async function subscribe(options: ConnectionOptions, exchange: DdqExchange): Promise<ConnectionEnd | null> {
  const { endpoint, appId, credential, topics } = options
  const login = await credential.token()
  if (!login.ok) return { is: 'refused', why: `log in: ${describeFailure(login.failure)}`, logInAgain: false }
  const token = login.value
  const end = (doing: string, failure: PlatformFailure): ConnectionEnd => {
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
