import type { TwilioSettings } from '../../../src/providers/twilio.ts'
import { AUTH_TOKEN, KEY_SECRET, KEY_SID, startTwilioServer } from '../../rigs/twilio-server.ts'
import type { ContractRig } from '../contract.ts'
import { openTwilio, twilioSide } from './rig.ts'

async function start(login: TwilioSettings['login']): Promise<ContractRig> {
  const server = await startTwilioServer()
  const provider = openTwilio(server.url, { login })
  const wrongLogin = openTwilio(server.url, { login: { authToken: 'canary-wrong' } })
  return {
    ...twilioSide(server),
    provider,
    wrongLogin,
    async end() {
      await Promise.all([provider.close(), wrongLogin.close(), server.close()])
    },
  }
}

export const variants: Readonly<Record<string, () => Promise<ContractRig>>> = {
  'with an auth token': async () => start({ authToken: AUTH_TOKEN }),
  'with an API key': async () => start({ apiKeySid: KEY_SID, apiKeySecret: KEY_SECRET }),
}
