import type { CarrierFault } from '../../../sandbox/carriers/api-server.ts'
import type { OutgoingSms } from '../../../src/messages/message.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { createTwilioProvider, type TwilioSettings } from '../../../src/providers/twilio.ts'
import { ACCOUNT_SID, AUTH_TOKEN } from '../../rigs/twilio-server.ts'
import { SHORT_HTTP } from '../short.ts'
import { outgoingSms } from '../sms.ts'

export const NUMBER = '+15005550010'
export const CODE = '60718293'
export const SENDER = { from: '+15005550006' }

export function sms(to = NUMBER, rest: Partial<OutgoingSms> = {}): OutgoingSms {
  return outgoingSms({ to, params: { code: CODE, minute: '10' }, ...rest })
}

export function openTwilio(url: string, settings: Partial<TwilioSettings> = {}): Provider {
  return createTwilioProvider({
    accountSid: ACCOUNT_SID,
    login: { authToken: AUTH_TOKEN },
    sender: SENDER,
    apiUrl: url,
    concurrency: 2,
    clock: { now: Date.now },
    limits: SHORT_HTTP,
    ...settings,
  })
}

/** An error as Twilio answers it. */
export function twilioError(
  status: number,
  code: number,
  message = 'refused',
  headers: Readonly<Record<string, string>> = {},
): CarrierFault {
  const more_info = `https://www.twilio.com/docs/errors/${code}`
  return { is: 'answer', status, body: JSON.stringify({ code, message, more_info, status }), headers }
}
