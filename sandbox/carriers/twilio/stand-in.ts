import { randomBytes } from 'node:crypto'
import { createSmsInbox } from '../sms-inbox.ts'
import type { StandInModule } from '../stand-in.ts'
import { SMS_FAULTS } from './faults.ts'
import { createTwilioStandIn } from './server.ts'

/** Twilio's API, which takes every SMS and keeps the last 200. */
export const standIn: StandInModule = {
  title: 'Twilio',
  faults: SMS_FAULTS,
  async start({ clock, changed }) {
    const inbox = createSmsInbox(SMS_FAULTS, changed)
    const accountSid = `AC${randomBytes(16).toString('hex')}`
    const authToken = randomBytes(16).toString('hex')
    const server = createTwilioStandIn({
      accountSid,
      authToken,
      now: () => clock.now(),
      fault: inbox.fault,
      onMessage({ sid, at, from, to, body, validityPeriod }) {
        inbox.add({ id: sid, at, from, to, body, validityPeriod })
      },
    })
    return inbox.serve(server, url => ({
      settings: {
        TWILIO_ACCOUNT_SID: accountSid,
        TWILIO_AUTH_TOKEN: authToken,
        TWILIO_FROM: '+15005550006',
        TWILIO_API_URL: url,
      },
      route: { country: 'US', number: '+12025550100' },
    }))
  },
}
