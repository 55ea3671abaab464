import type { IncomingHttpHeaders } from 'node:http'
import { parse } from 'node:querystring'
import formBody from '@fastify/formbody'
import type { FastifyInstance } from 'fastify'
import type { Emit } from '../events/events.ts'
import { type DeliveryReport, type Outbox, StoreUnavailable } from '../outbox/outbox.ts'
import { answer } from './answers.ts'

/** A report has some hundred octets and twenty fields. */
const LIMITS = { octets: 8 * 1024, fields: 100 }

/** A provider's delivery report on a message, which it names by its own id, and by ours where we could give it one. */
export type Receipt = Pick<DeliveryReport, 'providerId' | 'id' | 'status' | 'errorCode'>

/** The delivery reports of one provider. */
export interface ReceiptSource {
  /** Where the provider posts them, below PUBLIC_URL. */
  readonly path: string
  /**
   * @param form the fields of its body.
   * @param query of the URL that was called, as it came, without the question mark.
   * @returns what a request reports, often nothing; `forged` when it does not prove to be the provider's.
   */
  read(
    headers: IncomingHttpHeaders,
    form: Readonly<Record<string, unknown>>,
    query: string,
  ): readonly Receipt[] | 'forged'
}

export interface ReceiptRoutesOptions {
  readonly outbox: Pick<Outbox, 'writeReceipt'>
  /** ms since the epoch. */
  readonly now: () => number
  /** Gets a `receipt` for every report. */
  readonly emit: Emit
  readonly source: ReceiptSource
  /** Of every answer. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Takes one provider's delivery reports. A message id that is not ours is ignored; a late status does not undo a later
 * one.
 */
export async function receiptRoutes(app: FastifyInstance, options: ReceiptRoutesOptions): Promise<void> {
  const { source, headers, emit, outbox, now } = options

  app.removeAllContentTypeParsers()
  await app.register(formBody, {
    bodyLimit: LIMITS.octets,
    parser: text => parse(text, undefined, undefined, { maxKeys: LIMITS.fields }),
  })

  app.post(source.path, async (request, reply) => {
    reply.headers(headers)
    const form = (request.body ?? {}) as Record<string, unknown>
    const query = /\?(.*)$/s.exec(request.url)?.[1] ?? ''
    const receipts = source.read(request.headers, form, query)
    if (receipts === 'forged') {
      emit({ type: 'receipt', providerId: '', status: '', errorCode: null, result: 'forged' })
      const { status, err_code, err_msg } = answer('credential', 'the signature is wrong')
      return reply.code(status).send({ err_code, err_msg })
    }
    try {
      for (const { id, ...receipt } of receipts) {
        const result = await outbox.writeReceipt({ channel: 'sms', id, ...receipt, at: now() })
        emit({ type: 'receipt', ...receipt, result })
      }
      return await reply.code(204).send()
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      // Twilio asks again once, on a 5xx, when its connection overrides say so; nothing else can be done.
      const { status, err_code, err_msg } = answer('unavailable', 'the report cannot be stored now', {
        retryAfter: 5,
      })
      return reply.code(status).header('retry-after', '5').send({ err_code, err_msg })
    }
  })
}
