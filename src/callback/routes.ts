import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Emit } from '../events/events.ts'
import type { Channel } from '../messages/message.ts'
import { monotonic } from '../runtime/clock.ts'
import type { TimeSlices } from '../runtime/event-loop.ts'
import { createEndOfTickBatch, createTimeSlices, createUnreadClock } from '../runtime/event-loop.ts'
import { type Admission, type AdmittedCallback, countOctets, NO_ROOM } from './admission.ts'
import {
  type Answer,
  answerInvalidContent,
  answerUnavailable,
  createAnswer,
  ERR_CODES,
  encodeAnswer,
  OK,
  statusOfAnswer,
} from './answers.ts'
import {
  type Authentication,
  type AuthenticationResult,
  type Caller,
  type Credentials,
  PROBE_HEADER,
} from './authenticate.ts'
import { BODY_LIMIT, BodyFault, bodyLengthOf, type CallbackBody, parseBody } from './body.ts'
import type { Descriptors } from './descriptors.ts'
import type { Reception } from './receive.ts'
import type { UnauthenticatedConnections } from './unauthenticated-connections.ts'

export interface CallbackRoutesOptions {
  readonly authentication: Authentication
  readonly admission: Admission
  readonly descriptors: Descriptors
  readonly receive: (caller: Caller, body: CallbackBody, limitWait: () => number) => Promise<Reception>
  readonly schemas: Readonly<Record<Channel, object>>
  readonly errorStatus: 'code' | '200'
  /** Headers of every answer. */
  readonly headers: Readonly<Record<string, string>>
  readonly emit: Emit
  readonly unauthenticated: UnauthenticatedConnections
  /** While it is true, every answer closes its connection. */
  readonly isDraining: () => boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a POST that was admitted. */
    callback: {
      readonly result: Extract<AuthenticationResult, { ok: true }>
      readonly admitted: AdmittedCallback
      readonly startedAt: number
      /** How long it lay unread before that, at most, ms. */
      readonly unreadMs: number
    } | null
  }
}

/**
 * The time that a turn of the event loop spends on admitted callbacks, ms. Each takes half a millisecond and more until it is
 * with the store, and a callback that is refused must not wait behind all that were admitted before it.
 */
const SLICE_MS = 10
/** Beats between which a request may lie unread, ms; a caller that has left is taken to have left after so long, ms. */
const BEAT_MS = 200
const LEFT_AFTER_MS = 1000

type Send = (reply: FastifyReply, given: Answer, status?: number) => void

const CHANNELS: readonly Channel[] = ['email', 'sms']
const OTHER_METHODS = ['DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'PUT']

/** The answer to everything that is not a callback. */
export const NOT_FOUND: Answer = createAnswer('path', 'no such path')
const OTHER_METHOD: Answer = createAnswer('method', 'GET validates, POST sends')

/**
 * The public routes: validation (GET) and sending (POST) of each channel under `/callback/{corp_id}/{key}/`, and one
 * constant answer for everything else.
 */
export function callbackRoutes(app: FastifyInstance, options: CallbackRoutesOptions): void {
  const { emit, isDraining, unauthenticated, descriptors } = options
  const send = createSender(options)
  const inSlices = createTimeSlices(SLICE_MS, monotonic, unauthenticated.isAccepting)
  const { mostUnreadMs, stop } = createUnreadClock(BEAT_MS, monotonic)
  app.addHook('onClose', async () => stop())
  const refuse = (request: FastifyRequest, reply: FastifyReply, given: Answer) => {
    emit({ type: 'stray-request', answer: given })
    dropBody(request, reply)
    send(reply, given)
  }
  app.decorateRequest('callback', null)

  // One parser for every type: a missing Content-Type means JSON, as the contract's calls do.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_LIMIT }, (request, bytes, done) => {
    try {
      done(null, parseBody(request.headers, bytes as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })

  app.addHook('onRequest', (request, reply, next) => {
    if (isDraining() || descriptors.isSpare(request.raw.socket)) reply.header('connection', 'close')
    if (!request.is404) return next()
    // It is answered before its body is read; otherwise a stranger's body would be parsed.
    refuse(request, reply, NOT_FOUND)
  })
  const refuseNow = {
    email: createOverloadRefusal('email', options),
    sms: createOverloadRefusal('sms', options),
  }
  for (const channel of CHANNELS) {
    const url = `/callback/:corpId/:key/${channel}`
    channelRoutes(app, channel, url, options, send, refuseNow[channel], inSlices, mostUnreadMs)
    app.route({
      method: OTHER_METHODS,
      url,
      onRequest(request, reply) {
        reply.header('allow', 'GET, POST')
        refuse(request, reply, OTHER_METHOD)
      },
      handler: () => undefined,
    })
  }

  app.setNotFoundHandler((_request, reply) => send(reply, NOT_FOUND))
  app.setErrorHandler((error: FastifyError, _request, reply) => {
    const status = error.statusCode ?? 500
    if (status >= 500) emit({ type: 'fault', error })
    const given = status >= 500 ? createAnswer('fault', 'an unexpected fault') : NOT_FOUND
    emit({ type: 'stray-request', answer: given })
    send(reply, given)
  })
}

const OVERLOADED = answerUnavailable('too many callbacks at once')

/**
 * Refuses a callback because there are too many. Thousands a second are refused under a flood, and each waits for those before
 * it. So the answer goes out at once, by Node's own response and not Fastify's, and the refusals of a tick are reported together.
 */
function createOverloadRefusal(
  channel: Channel,
  { headers, errorStatus, emit, isDraining, descriptors }: CallbackRoutesOptions,
): RefuseNow {
  const status = statusOfAnswer(channel, OVERLOADED, errorStatus)
  const body = encodeAnswer(OVERLOADED)
  const kept = {
    ...headers,
    'retry-after': String(OVERLOADED.retryAfter),
    'content-type': JSON_TYPE,
    'content-length': String(body.length),
  }
  const closing = { ...kept, connection: 'close' }
  let times = 0
  const report = (): void => {
    emit({ type: 'overloaded', channel, answer: OVERLOADED, times })
    times = 0
  }
  return (request, response) => {
    times += 1
    if (times === 1) setImmediate(report)
    const isLast =
      isDraining() || descriptors.isSpare(request.socket) || bodyLengthOf(request.headers) > BODY_LIMIT
    response.writeHead(status, isLast ? closing : kept).end(body, 'latin1')
  }
}

type RefuseNow = (request: IncomingMessage, response: ServerResponse) => void

/** GET and POST of one channel. */
function channelRoutes(
  app: FastifyInstance,
  channel: Channel,
  url: string,
  options: CallbackRoutesOptions,
  send: Send,
  refuseNow: RefuseNow,
  inSlices: TimeSlices,
  mostUnreadMs: () => number,
): void {
  const { authentication, admission, receive, schemas, emit, unauthenticated, descriptors } = options
  const respond = createResponder(channel, options, send)
  const turnAway = (request: FastifyRequest, reply: FastifyReply) =>
    refuseNow(request.raw, reply.hijack().raw)

  app.get(url, (request, reply) => {
    const startedAt = performance.now()
    const result = authentication.authenticateValidation(credentialsOf(channel, request.params, request.raw))
    if (result.ok) unauthenticated.markAuthenticated(request.raw.socket)
    dropBody(request, reply)
    respond(request, reply, startedAt, result, { answer: result.ok ? OK : result.answer })
  })

  app.post(url, {
    schema: { body: schemas[channel] },
    /** Authenticates a POST and admits it, before its body is read. */
    onRequest(request, reply, next) {
      const startedAt = performance.now()
      const unreadMs = mostUnreadMs()
      const { socket } = request.raw
      const result = authentication.authenticatePost(credentialsOf(channel, request.params, request.raw))
      if (!result.ok) {
        dropBody(request, reply)
        return respond(request, reply, startedAt, result, result)
      }
      // While connections come faster than they are accepted, nothing more is done for new ones: whoever is not accepted gets no answer.
      const isNewInCrowd = !unauthenticated.isAuthenticated(socket) && unauthenticated.isBehind()
      unauthenticated.markAuthenticated(socket)
      const mayCome = !isNewInCrowd && !descriptors.isSpare(socket)
      const admitted = mayCome ? admission.admit(bodyLengthOf(request.headers)) : null
      if (admitted === null) return turnAway(request, reply)
      request.callback = { result, admitted, startedAt, unreadMs }
      // The callback ends when it was answered, and when its connection broke.
      reply.raw.once('close', admitted.end)
      // An empty Content-Type is none; Fastify would refuse it before our parser is asked.
      if (request.raw.headers['content-type'] === '') delete request.raw.headers['content-type']
      next()
    },
    preParsing: (request, _reply, body, next) =>
      next(null, countOctets(bodyLengthOf(request.headers), body, request.callback?.admitted.noteOctets)),
    handler: (request, reply) => {
      if (request.callback === null) throw new Error('a callback was not admitted')
      const { result, admitted, startedAt, unreadMs } = request.callback
      if (!admitted.noteBodyRead()) return turnAway(request, reply)
      const begin = unreadMs > LEFT_AFTER_MS ? inTurnAfterNext : inSlices
      begin(() => {
        // An end that comes sooner than after a second only says that the caller has nothing more to send.
        const mayHaveLeft = performance.now() - startedAt + unreadMs > LEFT_AFTER_MS
        const { socket } = request.raw
        if (mayHaveLeft && (socket.destroyed || socket.readableEnded)) return turnAway(request, reply)
        receive(result.caller, request.body as CallbackBody, admitted.noteStored)
          .then(reception => respond(request, reply, startedAt, result, reception))
          .catch((error: Error) => void reply.send(error))
      })
    },
    errorHandler: (error: FastifyError, request, reply) => {
      if (error === NO_ROOM) return turnAway(request, reply)
      const answer = answerToError(channel, error)
      const { callback } = request
      if (answer.err_code === ERR_CODES.fault) emit({ type: 'fault', error })
      if (answer.status === 413) reply.header('connection', 'close')
      if (callback === null) send(reply, answer)
      else respond(request, reply, callback.startedAt, callback.result, { answer })
    },
  })
}

/** Runs a task when the event loop has looked at all connections once more: what was read with the end behind it is known to have ended. */
function inTurnAfterNext(task: () => void): void {
  setImmediate(() => setImmediate(task))
}

/** By this name `callback-courier check` validates the URLs: it is served as the platform is, and not taken for it. */
export const CHECK_AGENT = 'callback-courier-check'

/** Answers a callback and reports it. */
function createResponder(channel: Channel, { errorStatus, emit }: CallbackRoutesOptions, send: Send) {
  return (
    request: FastifyRequest,
    reply: FastifyReply,
    startedAt: number,
    result: AuthenticationResult,
    { answer: given, kind = 'none', ids = [] }: Partial<Reception> & { readonly answer: Answer },
  ): void => {
    const method = request.method === 'GET' ? 'GET' : 'POST'
    emit({
      type: 'callback',
      channel,
      method,
      kind,
      answer: given,
      refusal: result.ok ? null : result.reason,
      knowsKey: result.ok || result.knowsKey,
      isCheck: request.headers['user-agent'] === CHECK_AGENT,
      signature: result.signature,
      outdated: result.ok && result.outdated,
      ids,
      tookMs: performance.now() - startedAt,
    })
    send(reply, given, method === 'GET' ? given.status : statusOfAnswer(channel, given, errorStatus))
  }
}

/** @param params `corpId` and `key` of the URL. */
function credentialsOf(channel: Channel, params: unknown, request: IncomingMessage): Credentials {
  const { url = '', headers, socket } = request
  const question = url.indexOf('?')
  const { 'x-forwarded-for': forwarded, [PROBE_HEADER]: probe } = headers
  return {
    ...(params as { readonly corpId: string; readonly key: string }),
    channel,
    query: question < 0 ? '' : url.slice(question + 1),
    socketAddress: socket.remoteAddress ?? '',
    forwardedFor: typeof forwarded === 'string' ? forwarded : undefined,
    probe: probe?.toString(),
  }
}

/** Sends the answers that are ready in one tick together, at its end. */
function createSender({ headers, emit }: CallbackRoutesOptions): Send {
  const atEndOfTick = createEndOfTickBatch()
  // Gives nothing back: Fastify would listen for the end of a reply that a handler returns, at some microseconds each.
  return (reply, given, status) =>
    atEndOfTick(() => {
      try {
        sendAnswer(reply, given, headers, status)
      } catch (error) {
        // Fastify's own handling of errors is over by now, and the other answers of this tick must be sent.
        emit({ type: 'fault', error: error as Error })
        reply.raw.destroy()
      }
    })
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** Writes an answer. @param headers stand on every one. */
export function sendAnswer(
  reply: FastifyReply,
  given: Answer,
  headers: Readonly<Record<string, string>>,
  status = given.status,
): FastifyReply {
  if (given.retryAfter !== undefined) reply.header('retry-after', String(given.retryAfter))
  return reply.code(status).headers(headers).header('content-type', JSON_TYPE).send(encodeAnswer(given))
}

/**
 * Keeps the connection of a refused request, or of a validation, when its body is small: Node reads it and throws it away, which costs less
 * than another TLS handshake. A body that is larger, or of unknown length, is not waited for.
 */
function dropBody(request: FastifyRequest, reply: FastifyReply): void {
  if (bodyLengthOf(request.headers) > BODY_LIMIT) reply.header('connection', 'close')
}

/** Builds the answer to a body that cannot be read or is not right: it names the field by JSON pointer, never its value. */
function answerToError(channel: Channel, error: FastifyError): Answer {
  if (error.validation !== undefined) {
    const [first] = error.validation
    const missing = first?.params['missingProperty']
    const pointer = `${first?.instancePath ?? ''}${typeof missing === 'string' ? `/${missing}` : ''}`
    const why = typeof missing === 'string' ? 'is missing' : (first?.message ?? 'is wrong')
    return answerInvalidContent(channel, `${pointer === '' ? 'the body' : pointer}: ${why}`)
  }
  if (error instanceof BodyFault) return answerInvalidContent(channel, error.message, error.statusCode)
  if (error.statusCode === 413)
    return answerInvalidContent(channel, `the body is larger than ${BODY_LIMIT} octets`, 413)
  if (error.statusCode === 415)
    return answerInvalidContent(channel, 'the Content-Type must be application/json', 415)
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) {
    return answerInvalidContent(channel, 'the body cannot be read')
  }
  return createAnswer('fault', 'an unexpected fault')
}
