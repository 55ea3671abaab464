import { type ClientHttp2Session, type ClientSessionOptions, connect as connectHttp2 } from 'node:http2'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { say, term, type Words, withRemedy } from '../language/sentence.ts'
import { lookUpName } from '../runtime/name-lookup.ts'
import { repeat } from '../runtime/retry.ts'
import type { DdqAddress } from '../settings/urls.ts'
import type { DdqExchange, MessageHandlers } from './exchange.ts'
import { createExchange, errorCodeOf, postRequest } from './exchange.ts'
import { guardSocket } from './frame-guard.ts'
import { type Credential, describeFailure, type PlatformFailure, refusesCredential } from './platform-api.ts'

export interface RefusedTopic {
  readonly topic: string
  readonly why: Words
}

/** The subscription as people look at it. */
export interface DdqStatus {
  readonly subscribed: boolean
  /** How long it has been subscribed, or has not been, however many tries to connect failed meanwhile. */
  readonly forMs: number
  /** Why it last ended, or could not begin; null: that has not happened. */
  readonly lastEnd: ConnectionEnd | null
  /** Topics that the platform refuses, though others come. */
  readonly refused: readonly RefusedTopic[]
  /** Messages since the process began, and how many of them cannot be used. */
  readonly received: number
  readonly malformed: number
}

export interface DdqClientOptions extends ConnectionOptions {
  /** It gives a number from 0 to 1. */
  readonly random: () => number
  /** A connection ended, and the next is tried after `waitMs`. */
  readonly onEnd: (end: ConnectionEnd, waitMs: number) => void
}

/** Jitter: as if a fifth of the time between two tries were drawn anew each time, to either side. */
const JITTER = 0.2

/**
 * Holds a subscription for as long as it is started: connects, and whenever the connection ends, connects again, every
 * `reconnectMs` with jitter until it succeeds. A refused credential is replaced at once, but only once in a row, so
 * that an application that is locked out does not hammer the platform.
 */
export function createDdqClient(options: DdqClientOptions) {
  const { timings, random, now } = options
  let subscribed = false
  let since = now()
  let lastEnd: ConnectionEnd | null = null
  let refused: readonly RefusedTopic[] = []
  let received = 0
  let malformed = 0
  let justLoggedIn = false
  let running: AbortController | undefined

  function enter(next: boolean): void {
    if (next !== subscribed) since = now()
    subscribed = next
  }

  /** Connecting begins, for the first time or after another process did it, or has ended: nothing is known any more. */
  function forget(): void {
    subscribed = false
    since = now()
    lastEnd = null
    refused = []
  }

  /** Connects, and is done when the connection has ended. @returns how long to wait before the next one, ms */
  async function connect(signal: AbortSignal): Promise<number> {
    const refusedNow: RefusedTopic[] = []
    const told: ConnectionOptions = {
      ...options,
      onMessage(message) {
        received += 1
        return options.onMessage(message)
      },
      onMalformed(fault) {
        malformed += 1
        options.onMalformed(fault)
      },
      onRefused(topic, why) {
        refusedNow.push({ topic, why })
        options.onRefused(topic, why)
      },
      onSubscribed(topics) {
        if (signal.aborted) return
        justLoggedIn = false
        refused = refusedNow
        enter(true)
        options.onSubscribed(topics)
      },
    }
    const end = await holdConnection(told, signal)
    if (signal.aborted) return 0
    const atOnce = end.logInAgain === true && !justLoggedIn
    justLoggedIn = atOnce
    const waitMs = atOnce ? 0 : Math.round(timings.reconnectMs * (1 - JITTER + random() * 2 * JITTER))
    lastEnd = end
    enter(false)
    options.onEnd(end, waitMs)
    return waitMs
  }

  return {
    start(): void {
      forget()
      justLoggedIn = false
      running = new AbortController()
      const { signal } = running
      void repeat(() => connect(signal), signal)
    },
    /** Ends the connection and does not come back; `start` begins anew. */
    stop(): void {
      running?.abort()
      forget()
    },
    status: (): DdqStatus => ({ subscribed, forMs: now() - since, lastEnd, refused, received, malformed }),
  }
}

type DdqEndpoint = Omit<DdqAddress, 'anyProduct'>

export interface Timings {
  readonly heartbeatMs: number
  /** Silence after which a connection is dead. */
  readonly silenceMs: number
  /** Between two tries to connect, give or take a fifth. */
  readonly reconnectMs: number
  /** How long connecting, and each answer, may take. */
  readonly answerMs: number
}

export interface ConnectionOptions extends MessageHandlers {
  readonly endpoint: DdqEndpoint
  readonly timings: Timings
  readonly appId: string
  readonly credential: Credential
  readonly topics: readonly string[]
  /** @param topics how many of them were accepted. */
  readonly onSubscribed: (topics: number) => void
  /** A topic is refused, though others are not: the connection goes on without it. */
  readonly onRefused: (topic: string, why: Words) => void
  /** ms since any origin, never going back. */
  readonly now: () => number
}

/** Why a subscription ended, or could not begin. */
export interface ConnectionEnd {
  readonly is: 'unreachable' | 'refused' | 'silent' | 'closed' | 'stopped'
  readonly why: Words
  /** The credential was refused, and a new one may be accepted. */
  readonly logInAgain?: boolean
}

/**
 * A stream's window: how much the other side may send before we read it. All of them together bound what waits to be read;
 * one alone is plenty for a fast line.
 */
const WINDOWS_BYTES = 16 * 1024 * 1024
const LARGEST_WINDOW_BYTES = 512 * 1024
const SMALLEST_WINDOW_BYTES = 16 * 1024

/** One connection: opens, authenticates, subscribes, and hands on messages until it ends, or the signal aborts. @returns why it ended */
export async function holdConnection(
  options: ConnectionOptions,
  signal: AbortSignal,
): Promise<ConnectionEnd> {
  const { endpoint, timings, now } = options
  const { promise: over, resolve: finish } = Promise.withResolvers<ConnectionEnd>()
  const fail: Fail = (is, why) => finish({ is, why })
  let stop = (): void => {}
  const socket = openSocket(endpoint)
  const connectTimeout = setTimeout(fail, timings.answerMs, 'unreachable', 'no connection in time')
  let connected = false
  socket.on('error', error => fail(connected ? 'closed' : 'unreachable', term(errorCodeOf(error))))
  socket.once('close', () => fail(connected ? 'closed' : 'unreachable', 'the connection was closed'))
  socket.once(isSecure(endpoint) ? 'secureConnect' : 'connect', () => {
    clearTimeout(connectTimeout)
    connected = true
    if (isSecure(endpoint) && !('alpnProtocol' in socket && socket.alpnProtocol === 'h2'))
      return fail('unreachable', 'the server does not speak HTTP/2')
    const guarded = guardSocket(socket, now, () => fail('closed', 'the server sends a flood of frames'))
    stop = runSession(connectHttp2(endpoint.origin, sessionOptions(options, guarded)), options, fail, finish)
  })
  const giveUp = () => fail('stopped', 'told to end')
  signal.addEventListener('abort', giveUp)
  const end = await over
  signal.removeEventListener('abort', giveUp)
  clearTimeout(connectTimeout)
  stop()
  socket.destroy()
  return end
}

type Fail = (is: ConnectionEnd['is'], why: Words) => void

function isSecure({ origin }: DdqEndpoint): boolean {
  return origin.startsWith('https:')
}

function openSocket(endpoint: DdqEndpoint): Socket {
  const { hostname, port } = new URL(endpoint.origin)
  const host = hostname.replace(/^\[|\]$/g, '')
  if (!isSecure(endpoint)) return connectTcp({ host, port: Number(port) || 80, lookup: lookUpName })
  const servername = isIP(host) === 0 ? host : ''
  return connectTls({
    host,
    port: Number(port) || 443,
    lookup: lookUpName,
    servername,
    ALPNProtocols: ['h2'],
  })
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
  let heartbeat: Heartbeat | undefined
  session.on('error', error => fail('closed', term(errorCodeOf(error))))
  session.on('close', () => fail('closed', 'the connection was closed'))
  session.on('goaway', code => fail('closed', say('the server said goodbye (GOAWAY {code})', { code })))
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
      ...timings,
      session,
      heartbeat: endpoint.heartbeat,
      now,
      onSilence: () => fail('silent', say('nothing was heard for {ms} ms', { ms: timings.silenceMs })),
    })
    subscribe(options, exchange).then(
      end => end !== null && finish(end),
      (error: unknown) => fail('closed', term(errorCodeOf(error))),
    )
  })
  return () => {
    stopped = true
    heartbeat?.stop()
    session.destroy()
  }
}

/** So long a token has not ended, ms: only what says that it is not accepted has it replaced. */
const FRESH_MS = 5 * 60_000

/** Logs in, authenticates and subscribes to each topic. @returns why the connection must end; null: it is subscribed. */
async function subscribe(options: ConnectionOptions, exchange: DdqExchange): Promise<ConnectionEnd | null> {
  const { endpoint, appId, credential, topics } = options
  const login = await credential.getToken()
  if ('is' in login) return { is: 'refused', why: withRemedy('log in', describeFailure(login)) }
  const { token } = login
  const end = (doing: Words, failure: PlatformFailure): ConnectionEnd => {
    const logInAgain = refusesCredential(failure)
    // A token that has ended may be refused by any code; a new one is refused for something else.
    if (failure.is === 'refused') credential.refused(token, logInAgain ? 0 : FRESH_MS)
    const is = failure.is === 'unreachable' ? 'closed' : 'refused'
    return { is, why: withRemedy(doing, describeFailure(failure)), logInAgain }
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
  if (fatal !== undefined) return end(say('subscribe to {topic}', { topic: fatal.topic }), fatal.failure)
  // The credential is good, as other topics were accepted: this topic is not ours, or unknown.
  for (const { topic, failure } of refused) options.onRefused(topic, describeFailure(failure))
  options.onSubscribed(topics.length - refused.length)
  return null
}

interface HeartbeatOptions extends Pick<Timings, 'heartbeatMs' | 'silenceMs'> {
  readonly session: ClientHttp2Session
  /** The contract gives an interval and a timeout, but not the frame. */
  readonly heartbeat: DdqAddress['heartbeat']
  /** ms since any origin, never going back. */
  readonly now: () => number
  readonly onSilence: () => void
}

interface Heartbeat {
  /** Bytes came from the other side. */
  recordActivity(): void
  stop(): void
}

/** Sends heartbeats until it is stopped, and calls `onSilence` once when nothing at all came for too long. */
export function startHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { session, heartbeat, heartbeatMs, silenceMs, now, onSilence } = options
  let lastActivity = now()
  /** Heartbeats since then. A process that was held up itself has sent few: the silence is not the other side's. */
  let unanswered = 0
  const expected = Math.max(1, Math.floor(silenceMs / heartbeatMs))
  const recordActivity = () => {
    lastActivity = now()
    unanswered = 0
  }
  const onAck = (error: Error | null) => {
    if (error === null) recordActivity()
  }

  function sendHeartbeat(): void {
    if (unanswered >= expected && now() - lastActivity >= silenceMs) {
      clearInterval(timer)
      onSilence()
      return
    }
    unanswered += 1
    if (session.destroyed || session.closed) return
    if (heartbeat === 'ping') session.ping(onAck)
    else if (heartbeat === 'settings') session.settings({}, onAck)
    else {
      const stream = postRequest(session, heartbeat.slice('post:'.length), {})
      stream.on('response', recordActivity)
      // Its failure is the connection's, which is watched as a whole.
      stream.on('error', () => {})
      stream.resume()
      // A server that never ends its answers must not gather streams.
      stream.setTimeout(silenceMs, () => stream.close())
    }
  }

  const timer = setInterval(sendHeartbeat, heartbeatMs)
  return { recordActivity, stop: () => clearInterval(timer) }
}
