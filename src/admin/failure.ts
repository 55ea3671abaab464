import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { languageOfBrowser } from '../language/choose.ts'
import { say, tell, type Words } from '../language/sentence.ts'
import { StoreUnavailable } from '../outbox/outbox.ts'
import { tellSchemaFault } from '../runtime/yaml-text.ts'

/** Programs ask below this path and are answered JSON; everybody else is answered text. */
const API = '/api/'

/** The reason why a request to the private listener is not answered. */
export interface Failure {
  readonly status: number
  /** Programs tell faults apart by it. */
  readonly error: string
  /** People read it; it never holds a value of the request. */
  readonly message: Words
}

/** Thrown by a route: the request cannot be answered, and why. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused'
  readonly failure: Failure

  constructor(failure: Failure) {
    super(String(failure.message))
    this.failure = failure
  }
}

/** Without a password every user of the machine could take a copy of the store, or have somebody forgotten. */
export const NO_OPERATOR: Failure = {
  status: 403,
  error: 'no-operator',
  message: 'only an operator may do this: set ADMIN_TOKENS, and come with an operator’s password',
}

export const NO_SUCH_PAGE: Failure = { status: 404, error: 'not-found', message: 'no such page' }

const UNREADABLE: Readonly<Record<number, Failure>> = {
  413: { status: 413, error: 'too-large', message: 'this is too large' },
  415: { status: 415, error: 'media-type', message: 'the body must be application/json' },
}

export function isApiPath({ url }: FastifyRequest): boolean {
  return url.startsWith(API)
}

export function sendFailure(reply: FastifyReply, { status, error, message }: Failure): FastifyReply {
  const { request } = reply
  reply.code(status)
  if (isApiPath(request)) return reply.send({ error, message })
  const text = tell(message).in(languageOfBrowser(request.headers['accept-language']))
  return reply.type('text/plain; charset=utf-8').header('vary', 'accept-language').send(`${text}\n`)
}

/** The answer to a request whose route or parsing threw this error. */
export function failureOf(error: Error & Partial<FastifyError>): Failure {
  if (error instanceof RequestRefused) return error.failure
  if (error instanceof StoreUnavailable) return { status: 503, error: 'unavailable', message: error.words }
  if (error.validation !== undefined) {
    // The field that is wrong, as ajv has it; never its value, nor the name of a field that there is not.
    const [first] = error.validation
    const field = first?.instancePath.replaceAll('/', '.') ?? ''
    const message = say('{path} {problem}', {
      path: `${error.validationContext ?? 'request'}${field}`,
      problem: tellSchemaFault(first),
    })
    return { status: 400, error: 'invalid', message }
  }
  const status = error.statusCode ?? 500
  if (status < 400 || status >= 500) return { status: 500, error: 'fault', message: 'an unexpected fault' }
  return UNREADABLE[status] ?? { status, error: 'invalid', message: 'this cannot be read' }
}
