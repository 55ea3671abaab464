import { timingSafeEqual } from 'node:crypto'
import { parse } from 'node:querystring'
import formBody from '@fastify/formbody'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Emit } from '../events/events.ts'
import type { Channel } from '../messages/message.ts'
import { type KeptReport, type Outbox, StoreUnavailable } from '../outbox/outbox.ts'
import type { BounceSource, CarrierReport, ReceiptSource } from '../providers/receipts.ts'
import { parseExactly } from '../runtime/exact-json.ts'
import { countOctets, MEMORY_EACH, NO_ROOM, type RequestMemory } from './admission.ts'
import { answerInvalidContent, answerUnavailable, createAnswer } from './answers.ts'
import { hashSecret } from './authenticate.ts'
import { bodyLengthOf } from './body.ts'
import { sendAnswer } from './routes.ts'

/**
 * The limits of a request. One that proves itself by a signature is read for whoever sends it, and reports on one message, in
 * some hundred octets and twenty fields; one that brings the key may report on thousands.
 */
const LIMITS = { signedOctets: 8 * 1024, octets: 2 * 1024 * 1024, fields: 100 }
/** The memory that an octet of reports needs: as text, and as objects. */
const MEMORY_PER_OCTET = 6
/** The memory that may be held, octets, when a request gets some: four of the longest fit, and the rest is left to callbacks. */
const MOST_MEMORY = 4 * (MEMORY_EACH + LIMITS.octets * MEMORY_PER_OCTET)
/** So much of a mail is kept, however long it is: what lies in a mailbox must not come again because it is long. */
const MAIL_OCTETS = 128 * 1024
/** So many reports share a commit; between two of them others have their turn. */
const REPORTS_AT_ONCE = 250
/** Unknown states that are told, each once: a provider that makes up new ones all the time fills no log. */
const MOST_UNKNOWN_STATES = 100

interface KeepOptions {
  readonly writeReceipt: Outbox['writeReceipt']
  /** ms since the epoch. */
  readonly now: () => number
  /** Gets a `receipt` for every report. */
  readonly emit: Emit
  /** The name of the provider whose reports they are. */
  readonly provider: string
}

interface ReceiptRoutesOptions extends KeepOptions {
  readonly memory: RequestMemory
  readonly source: ReceiptSource | BounceSource
  /** The headers of every answer. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Takes one provider's delivery reports. A message id that is not ours is ignored; a late status does not undo a later
 * one.
 */
export async function receiptRoutes(app: FastifyInstance, options: ReceiptRoutesOptions): Promise<void> {
  const { source, headers, provider, emit, memory } = options
  const keys = source.keys?.map(hashSecret)
  const most =
    source.format === 'mail' ? MAIL_OCTETS : keys === undefined ? LIMITS.signedOctets : LIMITS.octets
  const unknownStates = new Set<string>()
  const tellUnknownState = (state: string): void => {
    if (unknownStates.has(state) || unknownStates.size >= MOST_UNKNOWN_STATES) return
    unknownStates.add(state)
    // Whatever the file points at, no number and no code is told.
    emit({ type: 'receipt-state', path: source.path, state: state.replace(/\d{4,}/g, '…').slice(0, 64) })
  }
  const refuseForged = (reply: FastifyReply, why: string): FastifyReply => {
    const nothing = { providerId: '', status: '', errorCode: null }
    emit({ type: 'receipt', channel: 'sms', provider, ...nothing, result: 'forged' })
    return sendAnswer(reply, createAnswer('credential', why), headers)
  }
  if (source.format === 'mail') addMailParser(app)
  else await addBodyParser(app, source.format, most)

  app.setErrorHandler((error: FastifyError, _request, reply) => {
    const status = error.statusCode ?? 500
    if (status === 413 || error === NO_ROOM) reply.header('connection', 'close')
    if (error === NO_ROOM) return sendAnswer(reply, answerUnavailable('too many reports at once'), headers)
    if (status < 400 || status >= 500) throw error
    const isTooLarge = status === 413
    const why = isTooLarge ? `the reports are larger than ${most} octets` : 'the reports cannot be read'
    return sendAnswer(reply, answerInvalidContent('sms', why, isTooLarge ? 413 : 400), headers)
  })

  const url = keys === undefined ? source.path : `${source.path}/:key`
  const onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
    // All of them are compared, so that the time does not tell which one came close.
    const key = hashSecret((request.params as { readonly key?: string }).key ?? '')
    if (keys !== undefined && !keys.map(each => timingSafeEqual(each, key)).includes(true))
      return refuseForged(reply, 'the key in the URL is wrong')
  }
  const { challenge } = source
  if (challenge !== undefined && source.format !== 'query')
    app.get(url, { onRequest }, (request, reply) => {
      const said = parseForm(/\?(.*)$/s.exec(request.url)?.[1] ?? '')[challenge]
      // A word, and nothing that a browser could take for a page.
      return reply
        .headers(headers)
        .type('text/plain')
        .send(/^[\w-]{1,100}$/.exec(String(said))?.[0] ?? '')
    })

  app.route({
    method: source.format === 'query' ? 'GET' : 'POST',
    url,
    onRequest,
    preParsing(request, reply, body, next) {
      const hold = memory(MOST_MEMORY)
      const hasRoom = (octets: number) => hold(MEMORY_EACH + Math.min(octets, most) * MEMORY_PER_OCTET)
      const stated = bodyLengthOf(request.headers)
      reply.raw.once('close', () => hold(0))
      if (hasRoom(stated === Number.POSITIVE_INFINITY ? 0 : stated))
        next(null, countOctets(stated, body, hasRoom))
      else next(NO_ROOM)
    },
    async handler(request, reply) {
      const query = /\?(.*)$/s.exec(request.url)?.[1] ?? ''
      const body = source.format === 'query' ? parseForm(query) : request.body
      const given = { headers: request.headers, body, query }
      const receipts = await source.parseReports(given, tellUnknownState)
      if (receipts === 'forged') return refuseForged(reply, 'the signature is wrong')
      try {
        await keepReports(source.format === 'mail' ? 'email' : 'sms', receipts, options)
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        // Twilio asks again once, on a 5xx, when its connection overrides say so; others come again by themselves.
        return sendAnswer(reply, answerUnavailable('the report cannot be stored now'), headers)
      }
      reply.headers(headers)
      return source.taken === undefined ? reply.code(204).send() : reply.code(200).send(source.taken)
    },
  })
}

function addMailParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async (_request: unknown, stream: AsyncIterable<Buffer>) => {
    const chunks: Buffer[] = []
    let octets = 0
    for await (const chunk of stream) {
      if (octets < MAIL_OCTETS) chunks.push(chunk.subarray(0, MAIL_OCTETS - octets))
      octets += chunk.length
    }
    return Buffer.concat(chunks)
  })
}

const parseForm = (text: string) => parse(text, undefined, undefined, { maxKeys: LIMITS.fields })

/** Adds the parser for bodies of the source's format. */
async function addBodyParser(
  app: FastifyInstance,
  format: ReceiptSource['format'],
  bodyLimit: number,
): Promise<void> {
  app.removeAllContentTypeParsers()
  if (format === 'form') {
    await app.register(formBody, { bodyLimit, parser: parseForm })
    return
  }
  // The Content-Type that carriers give their JSON differs, and is not documented everywhere.
  app.addContentTypeParser('*', { parseAs: 'string', bodyLimit }, (_request, text, done) => {
    try {
      done(null, parseExactly(text.toString()))
    } catch {
      done(Object.assign(new Error('not JSON'), { statusCode: 400 }))
    }
  })
}

/** Writes reports; many share a commit. @returns what became of each. @throws StoreUnavailable */
export async function keepReports(
  channel: Channel,
  reports: readonly CarrierReport[],
  { writeReceipt, provider, now, emit }: KeepOptions,
): Promise<readonly KeptReport['is'][]> {
  const results: KeptReport['is'][] = []
  for (let at = 0; at < reports.length; at += REPORTS_AT_ONCE) {
    const written = reports.slice(at, at + REPORTS_AT_ONCE).filter(isStorable)
    results.push(
      ...(await Promise.all(
        written.map(async report => {
          const { is: result, ...about } = await writeReceipt({ channel, ...report, at: now() })
          const { id, providerId = '', status, errorCode, fault, reply } = report
          const said = { id, providerId, status, errorCode, fault, reply, result }
          emit({ type: 'receipt', channel, provider, ...said, ...about })
          return result
        }),
      )),
    )
  }
  return results
}

/** Says whether all words of a report are short and printable, as the ids and statuses of all providers are. */
function isStorable({ providerId = '-', status, errorCode }: CarrierReport): boolean {
  return [providerId, status, errorCode ?? '-'].every(word => /^[\x21-\x7e]{1,64}$/.test(word))
}
