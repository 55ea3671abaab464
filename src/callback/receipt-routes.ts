import type { IncomingHttpHeaders } from 'node:http'
import { parse } from 'node:querystring'
import formBody from '@fastify/formbody'
import type { FastifyInstance } from 'fastify'
import { StoreUnavailable } from '../outbox/outbox.ts'
import { answer } from './answers.ts'
import { createReceiptRecorder, type Receipt, type ReceiptRecorderOptions } from './receipt-recorder.ts'

/** A report has some hundred octets and twenty fields. */
const LIMITS = { octets: 8 * 1024, fields: 100 }

/** The delivery reports of one provider. */
export interface ReceiptSource {
  /** Where the provider posts them, below PUBLIC_URL. */
  readonly path: string
  /**
   * @param form the fields of its body.
   * @returns what a request reports, often nothing; `forged` when it does not prove to be the provider's.
   */
  read(headers: IncomingHttpHeaders, form: Readonly<Record<string, unknown>>): readonly Receipt[] | 'forged'
}

export interface ReceiptRoutesOptions extends Pick<ReceiptRecorderOptions, 'outbox' | 'now' | 'emit'> {
  readonly source: ReceiptSource
  /** Of every answer. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Takes one provider's delivery reports. A message id that is not ours is ignored; a late status does not undo a later
 * one.
 */
export async function receiptRoutes(app: FastifyInstance, options: ReceiptRoutesOptions): Promise<void> {
  const { source, headers, emit } = options
  const recorder = createReceiptRecorder(options)
  app.addHook('onClose', async () => recorder.close())

  app.removeAllContentTypeParsers()
  await app.register(formBody, {
    bodyLimit: LIMITS.octets,
    parser: text => parse(text, undefined, undefined, { maxKeys: LIMITS.fields }),
  })

  app.post(source.path, async (request, reply) => {
    reply.headers(headers)
    const receipts = source.read(request.headers, (request.body ?? {}) as Record<string, unknown>)
    if (receipts === 'forged') {
      emit({ type: 'receipt', providerId: '', status: '', errorCode: null, result: 'forged' })
      const { status, err_code, err_msg } = answer('credential', 'the signature is wrong')
      return reply.code(status).send({ err_code, err_msg })
    }
    try {
      for (const receipt of receipts) await recorder.record(receipt)
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
