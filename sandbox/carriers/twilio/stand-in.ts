import { randomBytes } from 'node:crypto'
import type { CarrierFault } from '../api-server.ts'
import type { ReceivedSms, StandInModule } from '../stand-in.ts'
import { SMS_FAULTS } from './faults.ts'
import { createTwilioStandIn } from './server.ts'

/** Twilio's API, which takes every SMS and keeps the last 200. */
export const standIn: StandInModule = {
  title: 'Twilio',
  faults: SMS_FAULTS,
  async start({ clock, changed }) {
    let received: readonly ReceivedSms[] = []
    let fault: CarrierFault | null = null
    const accountSid = `AC${randomBytes(16).toString('hex')}`
    const authToken = randomBytes(16).toString('hex')
    const server = createTwilioStandIn({
      accountSid,
      authToken,
      now: () => clock.now(),
      fault: () => fault ?? undefined,
      onMessage({ sid, at, from, to, body, validityPeriod }) {
        received = [...received, { id: sid, at, from, to, body, validityPeriod }].slice(-200)
        changed()
      },
    })
    const { port } = await server.listen()
    const url = `http://127.0.0.1:${port}`
    return {
      channel: 'sms',
      url,
      settings: {
        TWILIO_ACCOUNT_SID: accountSid,
        TWILIO_AUTH_TOKEN: authToken,
        TWILIO_FROM: '+15005550006',
        TWILIO_API_URL: url,
      },
      route: { country: 'US', number: '+12025550100' },
      sms: () => received,
      setFault(name) {
        fault = SMS_FAULTS[name]?.fault ?? null
      },
      clear() {
        received = []
      },
      close: () => server.close(),
    }
  },
}
