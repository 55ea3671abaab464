import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Emit } from '../events/events.ts'
import type { Channel } from '../messages/message.ts'
import { createEndOfTickBatch } from '../runtime/end-of-tick.ts'
import { type Answer, answer, contentInvalid, postStatus } from './answers.ts'
import type { Authentication, AuthenticationResult, Caller, Credentials } from './authenticate.ts'
import { BODY_LIMIT, BodyFault, type CallbackBody, parseBody } from './body.ts'
import type { Reception } from './receive.ts'

export interface CallbackRoutesOptions {
  readonly gate: Authentication
  readonly receive: (caller: Caller, body: CallbackBody) => Promise<Reception>
  readonly schemas: Readonly<Record<Channel, object>>
  readonly errorStatus: 'code' | '200'
  /** Headers of every answer. */
  readonly headers: Readonly<Record<string, string>>
  readonly emit: Emit
  /** Hears of each connection on which somebody showed the key. */
  readonly markAuthenticated: (socket: Socket) => void
}

declare module 'fastify' {
  interface FastifyRequest {
    admission: AuthenticationResult | null
    startedAt: number
  }
}

type Params = { readonly corpId: string; readonly key: string }

const CHANNELS: readonly Channel[] = ['email', 'sms']
const OTHER_METHODS = ['DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'PUT'] as const

/** What everything that is not a callback is answered. */
export const NOT_FOUND: Answer = answer('path', 'no such path')
const OTHER_METHOD: Answer = answer('method', 'GET validates, POST sends')

/**
 * The public routes: validation (GET) and sending (POST) of each channel under `/callback/{corp_id}/{key}/`, and one
 * constant answer for everything else.
 */
export function callbackRoutes(app: FastifyInstance, options: CallbackRoutesOptions): void {
  const { gate, receive, schemas, errorStatus, headers, emit, markAuthenticated } = options

  app.decorateRequest('admission', null)
  app.decorateRequest('startedAt', 0)

  // One parser for every type: a missing Content-Type means JSON, as the contract's calls do.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_LIMIT }, (request, bytes, done) => {
    try {
      done(null, parseBody(request.headers, bytes as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })

  const atEndOfTurn = createEndOfTickBatch()
  // Handlers give nothing back: Fastify would listen for the end of a reply that it is given, at some microseconds each.
  const send = (reply: FastifyReply, status: number, given: Answer): void =>
    atEndOfTurn(() => {
      try {
        sendAnswer(reply, status, given, headers)
      } catch (error) {
        // Beyond Fastify's own handling of errors, and those of the same turn must get their answers.
        emit({ type: 'fault', error: error as Error })
        reply.raw.destroy()
      }
    })

  function knockOf(channel: Channel, request: FastifyRequest): Credentials {
    const { corpId, key } = request.params as Params
    const { url } = request.raw
    const question = url?.indexOf('?') ?? -1
    const forwarded = request.headers['x-forwarded-for']
    return {
      channel,
      corpId,
      key,
      query: question < 0 ? '' : (url?.slice(question + 1) ?? ''),
      socketAddress: request.socket.remoteAddress ?? '',
      forwardedFor: typeof forwarded === 'string' ? forwarded : undefined,
    }
  }

  // Before anything of it is read: a stranger's body would be parsed otherwise.
  app.addHook('onRequest', (request, reply, next) => {
    if (!request.is404) return next()
    emit({ type: 'stray-request', answer: NOT_FOUND })
    dropBody(request, reply)
    send(reply, NOT_FOUND.status, NOT_FOUND)
  })

  for (const channel of CHANNELS) {
    const url = `/callback/:corpId/:key/${channel}`
    const tell = (
      request: FastifyRequest,
      method: 'GET' | 'POST',
      admission: AuthenticationResult,
      reception: { readonly answer: Answer; readonly kind: string; readonly ids: readonly string[] },
    ) =>
      emit({
        type: 'callback',
        channel,
        method,
        ...reception,
        refusal: admission.ok ? null : admission.reason,
        signature: admission.signature,
        outdated: admission.ok && admission.outdated,
        tookMs: performance.now() - request.startedAt,
      })

    app.get(url, (request, reply) => {
      request.startedAt = performance.now()
      const admission = gate.authenticateValidation(knockOf(channel, request))
      const given = admission.ok ? answer('ok', '') : admission.answer
      if (admission.ok) markAuthenticated(request.raw.socket)
      tell(request, 'GET', admission, { answer: given, kind: 'none', ids: [] })
      send(reply, given.status, given)
    })

    app.post(url, {
      schema: { body: schemas[channel] },
      onRequest: (request, reply, next) => {
        request.startedAt = performance.now()
        const admission = gate.authenticatePost(knockOf(channel, request))
        request.admission = admission
        if (admission.ok) {
          markAuthenticated(request.raw.socket)
          // An empty one is none; Fastify would refuse it before our parser is asked.
          if (request.raw.headers['content-type']?.trim() === '') delete request.raw.headers['content-type']
          return next()
        }
        tell(request, 'POST', admission, { answer: admission.answer, kind: 'none', ids: [] })
        dropBody(request, reply)
        send(reply, postStatus(channel, admission.answer, errorStatus), admission.answer)
      },
      handler: (request, reply) => {
        const { admission } = request
        if (admission === null || !admission.ok) throw new Error('a callback passed the gate unadmitted')
        receive(admission.caller, request.body as CallbackBody)
          .then(reception => {
            tell(request, 'POST', admission, reception)
            send(reply, postStatus(channel, reception.answer, errorStatus), reception.answer)
          })
          .catch((error: Error) => void reply.send(error))
      },
      errorHandler: (error: FastifyError, request, reply) => {
        const given = answerToError(channel, error)
        const { admission } = request
        if (given.err_code === answer('fault', '').err_code) emit({ type: 'fault', error })
        if (admission !== null) tell(request, 'POST', admission, { answer: given, kind: 'none', ids: [] })
        if (given.status === 413) reply.header('connection', 'close')
        send(reply, postStatus(channel, given, errorStatus), given)
      },
    })

    app.route({
      method: [...OTHER_METHODS],
      url,
      onRequest: (request, reply) => {
        emit({ type: 'stray-request', answer: OTHER_METHOD })
        dropBody(request, reply)
        send(reply, OTHER_METHOD.status, OTHER_METHOD)
      },
      handler: () => undefined,
    })
  }

  app.setNotFoundHandler((_request, reply) => send(reply, NOT_FOUND.status, NOT_FOUND))
  app.setErrorHandler((error: FastifyError, _request, reply) => {
    const status = error.statusCode ?? 500
    if (status >= 500) emit({ type: 'fault', error })
    const given = status >= 500 ? answer('fault', 'an unexpected fault') : NOT_FOUND
    emit({ type: 'stray-request', answer: given })
    send(reply, given.status, given)
  })
}

/** Writes an answer. @param headers stand on every one. */
export function sendAnswer(
  reply: FastifyReply,
  status: number,
  given: Answer,
  headers: Readonly<Record<string, string>>,
): FastifyReply {
  if (given.retryAfter !== undefined) reply.header('retry-after', String(given.retryAfter))
  return reply
    .code(status)
    .headers(headers)
    .header('content-type', 'application/json; charset=utf-8')
    .send(
      `{"err_code":${given.err_code},"err_msg":${given.err_msg === '' ? '""' : JSON.stringify(given.err_msg)}}`,
    )
}

/**
 * Keeps the connection of a refused request when what is left of it is small: Node reads it and throws it away, which
 * costs less than another TLS handshake. Anything larger, or of unknown length, is not waited for.
 */
function dropBody(request: FastifyRequest, reply: FastifyReply): void {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers
  if (coding !== undefined || Number(length ?? 0) > BODY_LIMIT) reply.header('connection', 'close')
}

/** What a body that is not read or not right is answered: the field by JSON pointer, never its value. */
function answerToError(channel: Channel, error: FastifyError): Answer {
  if (error.validation !== undefined) {
    const [first] = error.validation
    const missing = first?.params['missingProperty']
    const pointer = `${first?.instancePath ?? ''}${typeof missing === 'string' ? `/${missing}` : ''}`
    const why = typeof missing === 'string' ? 'is missing' : (first?.message ?? 'is wrong')
    return contentInvalid(channel, `${pointer === '' ? 'the body' : pointer}: ${why}`)
  }
  if (error instanceof BodyFault) return contentInvalid(channel, error.message, error.statusCode)
  if (error.statusCode === 413)
    return contentInvalid(channel, `the body is larger than ${BODY_LIMIT} octets`, 413)
  if (error.statusCode === 415)
    return contentInvalid(channel, 'the Content-Type must be application/json', 415)
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) {
    return contentInvalid(channel, 'the body cannot be read')
  }
  return answer('fault', 'an unexpected fault')
}
