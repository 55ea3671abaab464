import { validateRequest } from 'twilio/lib/webhooks/webhooks.js'
import { receiptPath } from '../module.ts'
import type { ReceiptSource } from '../receipts.ts'
import { readWord } from '../reply.ts'

/**
 * Reads Twilio's status callbacks (https://www.twilio.com/docs/usage/webhooks/messaging-webhooks#status-callback),
 * which count only with a right X-Twilio-Signature over the configured URL, its query as it came, and the form's fields.
 * The query names our message (`?id=…`).
 *
 * @param options.url what Twilio was told to call; never what a request says of itself.
 * @param options.authToken the account's Auth Token, which signs (an API key does not).
 */
export function createTwilioReceipts({
  url,
  authToken,
}: {
  readonly url: string
  readonly authToken: string
}): ReceiptSource {
  return {
    path: receiptPath('twilio'),
    format: 'form',
    parseReports({ headers, body, query }) {
      const fields = (body ?? {}) as Record<string, unknown>
      const signature = headers['x-twilio-signature']
      const called = query === '' ? url : `${url}?${query}`
      if (typeof signature !== 'string' || !validateRequest(authToken, signature, called, fields))
        return 'forged'
      const providerId = readWord(fields['MessageSid'])
      const status = readWord(fields['MessageStatus'])
      if (providerId === undefined || status === undefined || !/^[a-z_]{1,32}$/.test(status)) return []
      const code = readWord(fields['ErrorCode'])
      const errorCode = code !== undefined && /^\d{1,6}$/.test(code) ? code : null
      return [{ providerId, id: /^id=([0-9a-f]{32})$/.exec(query)?.[1], status, errorCode }]
    },
  }
}
