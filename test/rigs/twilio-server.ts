import { createTwilioStandIn, type TwilioStandIn } from '../../sandbox/carriers/twilio.ts'
import { startStandIn } from './stand-in.ts'

export const ACCOUNT_SID = 'AC0123456789abcdef0123456789abcdef'
export const AUTH_TOKEN = 'canary-auth-token-5f2d'
export const KEY_SID = 'SK0123456789abcdef0123456789abcdef'
export const KEY_SECRET = 'canary-key-secret-91ce'

export type TwilioServer = Awaited<ReturnType<typeof startTwilioServer>>

/** A recording Twilio on loopback that can misbehave. Once it is closed, connecting is refused. */
export async function startTwilioServer() {
  const account = { accountSid: ACCOUNT_SID, authToken: AUTH_TOKEN, keys: { [KEY_SID]: KEY_SECRET } }
  const server = await startStandIn<TwilioStandIn>(fault => createTwilioStandIn({ ...account, fault }))
  const { messages, requests, connections, close } = server.standIn
  return Object.assign(server, { messages, requests, openConnections: connections, close })
}
