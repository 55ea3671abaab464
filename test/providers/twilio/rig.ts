import type { CarrierFault } from '../../../sandbox/carriers/api-server.ts'
import type { OutgoingSms } from '../../../src/messages/message.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { createTwilioProvider, type TwilioSettings } from '../../../src/providers/twilio.ts'
import { ACCOUNT_SID, AUTH_TOKEN, KEY_SECRET, type TwilioServer } from '../../rigs/twilio-server.ts'
import type { Behaviour, ContractRig } from '../contract.ts'
import { SHORT_HTTP } from '../short.ts'
import { outgoingSms } from '../sms.ts'
import { mail } from '../smtp/rig.ts'

export const NUMBER = '+15005550010'
export const CODE = '60718293'
export const SENDER = { from: '+15005550006' }

export function sms(to = NUMBER, rest: Partial<OutgoingSms> = {}): OutgoingSms {
  return outgoingSms({ to, params: { code: CODE, minute: '10' }, ...rest })
}

export function openTwilio(
  url: string,
  settings: Partial<TwilioSettings> = {},
): Provider & { load(): Promise<void> } {
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

const ECHO = `${NUMBER} ${NUMBER.slice(1)} ${CODE} https://platform.example/canaryLink ${AUTH_TOKEN}`
const FAULTS: Readonly<Record<Exclude<Behaviour, 'well'>, CarrierFault>> = {
  'refuse-recipient': twilioError(400, 21211, `The 'To' number ${ECHO} is not valid`),
  'refuse-content': twilioError(400, 21617, `The body ${ECHO} is too long`),
  'refuse-for-now': twilioError(429, 20429, `Too many of ${ECHO}`, { 'retry-after': '1' }),
  'stall-after-message': { is: 'stall', accept: true },
  'drop-after-message': { is: 'reset', accept: true },
  garbage: {
    is: 'answer',
    status: 502,
    body: `<html>${ECHO}</html>`,
    headers: { 'content-type': 'text/html' },
  },
}

/** Everything of a contract's rig but the providers. */
export function twilioSide(server: TwilioServer): Omit<ContractRig, 'provider' | 'wrongLogin' | 'end'> {
  return {
    message: sms,
    foreign: mail(),
    recipient: NUMBER,
    secrets: [NUMBER.slice(1), CODE, 'canaryLink', AUTH_TOKEN, KEY_SECRET, 'Basic ', 'canary-wrong'],
    arrived: () => server.messages.map(({ body }) => body.slice(0, 32)),
    sockets: () => server.openConnections(),
    behave(how) {
      server.fault = how === 'well' ? undefined : () => FAULTS[how]
    },
    goDown: async () => server.close(),
  }
}
