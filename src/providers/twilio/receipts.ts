import { parse } from 'node:querystring'
import type { FastifyInstance } from 'fastify'
import { validateRequest } from 'twilio/lib/webhooks/webhooks.js'
import { answer } from '../../callback/answers.ts'
import { createReceiptRecorder, type ReceiptEvent } from '../../callback/receipt-recorder.ts'
import { type Outbox, StoreUnavailable } from '../../outbox/outbox.ts'
import { RECEIPT_PATH } from './receipt-path.ts'

/** Octets; Twilio's reports have about 500. */
const BODY_LIMIT = 8 * 1024

export interface ReceiptRoutesOptions {
  /** Scheme, host, port and path prefix that Twilio was told to call; never what a request says of itself. */
  readonly publicUrl: string
  /** The account's Auth Token, which signs (an API key does not). */
  readonly authToken: string
  readonly outbox: Pick<Outbox, 'writeReceipt'>
  readonly headers: Readonly<Record<string, string>>
  /** ms since the epoch. */
  readonly now: () => number
  readonly heard: (event: ReceiptEvent) => void
  /** A bug. */
  readonly fault: (event: { readonly error: Error }) => void
}

/**
 * Takes Twilio's status callbacks (https://www.twilio.com/docs/usage/webhooks/messaging-webhooks#status-callback),
 * which count only with a right X-Twilio-Signature over the configured URL and the form's fields. A message id that
 * is not ours is ignored; a late status does not undo a later one.
 */
export async function receiptRoutes(app: FastifyInstance, options: ReceiptRoutesOptions): Promise<void> {
  const { publicUrl, authToken, headers, heard } = options
  const url = `${publicUrl}${RECEIPT_PATH}`
  const recorder = createReceiptRecorder(options)
  app.addHook('onClose', async () => recorder.close())

  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: BODY_LIMIT },
    (_request, body, done) => done(null, { ...parse(String(body), undefined, undefined, { maxKeys: 100 }) }),
  )

  app.post(RECEIPT_PATH, async (request, reply) => {
    const fields = (typeof request.body === 'object' && request.body !== null ? request.body : {}) as Record<
      string,
      unknown
    >
    const signature = request.headers['x-twilio-signature']
    reply.headers(headers)
    if (typeof signature !== 'string' || !validateRequest(authToken, signature, url, fields)) {
      heard({ providerId: '', status: '', errorCode: null, result: 'forged' })
      const given = answer('credential', 'the signature is wrong')
      return reply.code(given.status).send({ err_code: given.err_code, err_msg: given.err_msg })
    }
    const providerId = textOf(fields['MessageSid'])
    const status = textOf(fields['MessageStatus'])
    if (providerId === null || status === null || !/^[a-z_]{1,32}$/.test(status))
      return reply.code(204).send()
    const code = textOf(fields['ErrorCode'])
    const errorCode = code !== null && /^\d{1,6}$/.test(code) ? code : null
    try {
      await recorder.record({ providerId, status, errorCode })
      return await reply.code(204).send()
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      // Twilio asks again once, on a 5xx, when its connection overrides say so; nothing else can be done.
      const given = answer('unavailable', 'the report cannot be stored now', { retryAfter: 5 })
      return reply
        .code(given.status)
        .header('retry-after', '5')
        .send({ err_code: given.err_code, err_msg: given.err_msg })
    }
  })
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= 64 ? value : null
}
