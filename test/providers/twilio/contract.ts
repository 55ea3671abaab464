import type { TwilioSettings } from '../../../src/providers/twilio.ts'
import { AUTH_TOKEN, KEY_SECRET, KEY_SID, startTwilioServer } from '../../rigs/twilio-server.ts'
import { carrierContract } from '../carrier.ts'
import type { ContractRig } from '../contract.ts'
import { CODE, NUMBER, openTwilio, sms, twilioError } from './rig.ts'

async function start(login: TwilioSettings['login']): Promise<ContractRig> {
  const server = await startTwilioServer()
  return carrierContract(server, {
    provider: openTwilio(server.url, { login }),
    wrongLogin: openTwilio(server.url, { login: { authToken: 'canary-wrong' } }),
    message: sms,
    idOf: ({ body }) => body.slice(0, 32),
    told: [NUMBER, NUMBER.slice(1), CODE, AUTH_TOKEN],
    alsoSecret: [KEY_SECRET, 'Basic '],
    refusals: echo => ({
      'refuse-recipient': twilioError(400, 21211, `The 'To' number ${echo} is not valid`),
      'refuse-content': twilioError(400, 21617, `The body ${echo} is too long`),
      'refuse-for-now': twilioError(429, 20429, `Too many of ${echo}`, { 'retry-after': '1' }),
    }),
  })
}

export const variants: Readonly<Record<string, () => Promise<ContractRig>>> = {
  'with an auth token': async () => start({ authToken: AUTH_TOKEN }),
  'with an API key': async () => start({ apiKeySid: KEY_SID, apiKeySecret: KEY_SECRET }),
}
