import { timingSafeEqual } from 'node:crypto'
import { parse } from 'node:querystring'
import formBody from '@fastify/formbody'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Emit } from '../events/events.ts'
import { type Outbox, StoreUnavailable } from '../outbox/outbox.ts'
import type { CarrierReport, ReceiptSource } from '../providers/receipts.ts'
import { createAnswer } from './answers.ts'
import { hashSecret } from './authenticate.ts'

/** The limits of a request. A form reports on one message, in some hundred octets and twenty fields; a JSON array on a hundred messages. */
const LIMITS = { formOctets: 8 * 1024, fields: 100, jsonOctets: 128 * 1024, reports: 500 }

interface ReceiptRoutesOptions {
  readonly outbox: Pick<Outbox, 'writeReceipt'>
  /** ms since the epoch. */
  readonly now: () => number
  /** Gets a `receipt` for every report. */
  readonly emit: Emit
  readonly source: ReceiptSource
  /** The headers of every answer. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Takes one provider's delivery reports. A message id that is not ours is ignored; a late status does not undo a later
 * one.
 */
export async function receiptRoutes(app: FastifyInstance, options: ReceiptRoutesOptions): Promise<void> {
  const { source, headers, emit } = options
  const keys = source.keys?.map(hashSecret)
  await addBodyParser(app, source.format)

  app.route<{ Params: { key?: string } }>({
    method: source.format === 'query' ? 'GET' : 'POST',
    url: keys === undefined ? source.path : `${source.path}/:key`,
    async onRequest(request, reply) {
      reply.headers(headers)
      // All of them are compared, so that the time does not tell which one came close.
      const key = hashSecret(request.params.key ?? '')
      if (keys !== undefined && !keys.map(each => timingSafeEqual(each, key)).includes(true))
        return refuseForged(reply, emit, 'the key in the URL is wrong')
    },
    async handler(request, reply) {
      const query = /\?(.*)$/s.exec(request.url)?.[1] ?? ''
      const body = source.format === 'query' ? parseForm(query) : request.body
      const receipts = source.parseReports({ headers: request.headers, body, query })
      if (receipts === 'forged') return refuseForged(reply, emit, 'the signature is wrong')
      try {
        await writeReceipts(receipts.slice(0, LIMITS.reports), options)
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        // Twilio asks again once, on a 5xx, when its connection overrides say so; others come again by themselves.
        const { status, err_code, err_msg } = createAnswer('unavailable', 'the report cannot be stored now')
        return reply.code(status).header('retry-after', '5').send({ err_code, err_msg })
      }
      return source.taken === undefined ? reply.code(204).send() : reply.code(200).send(source.taken)
    },
  })
}

const parseForm = (text: string) => parse(text, undefined, undefined, { maxKeys: LIMITS.fields })

/** Adds the parser for bodies of the source's format. */
async function addBodyParser(app: FastifyInstance, format: ReceiptSource['format']): Promise<void> {
  app.removeAllContentTypeParsers()
  if (format === 'form') {
    await app.register(formBody, { bodyLimit: LIMITS.formOctets, parser: parseForm })
    return
  }
  // The Content-Type that carriers give their JSON differs, and is not documented everywhere.
  app.addContentTypeParser(
    '*',
    { parseAs: 'string', bodyLimit: LIMITS.jsonOctets },
    (_request, text, done) => {
      try {
        done(null, JSON.parse(text.toString()))
      } catch {
        done(Object.assign(new Error('not JSON'), { statusCode: 400 }))
      }
    },
  )
}

/** Writes the reports of one request, which share a commit. @throws StoreUnavailable */
async function writeReceipts(
  receipts: readonly CarrierReport[],
  { outbox, now, emit }: ReceiptRoutesOptions,
): Promise<void> {
  await Promise.all(
    receipts.filter(isStorable).map(async ({ id, ...receipt }) => {
      const result = await outbox.writeReceipt({ channel: 'sms', id, ...receipt, at: now() })
      emit({ type: 'receipt', id, ...receipt, result })
    }),
  )
}

/** Says whether all words of a report are short and printable, as the ids and statuses of all providers are. */
function isStorable({ providerId, status, errorCode }: CarrierReport): boolean {
  return [providerId, status, errorCode ?? '-'].every(word => /^[\x21-\x7e]{1,64}$/.test(word))
}

function refuseForged(reply: FastifyReply, emit: Emit, why: string): FastifyReply {
  emit({ type: 'receipt', providerId: '', status: '', errorCode: null, result: 'forged' })
  const { status, err_code, err_msg } = createAnswer('credential', why)
  return reply.code(status).send({ err_code, err_msg })
}
