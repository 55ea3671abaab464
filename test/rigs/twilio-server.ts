import { getExpectedTwilioSignature } from 'twilio/lib/webhooks/webhooks.js'
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

/** A delivery report as Twilio posts it to `/receipt/twilio` of a service with this PUBLIC_URL. */
export function signedReport(publicUrl: string, fields: Readonly<Record<string, string>>) {
  const signature = getExpectedTwilioSignature(AUTH_TOKEN, `${publicUrl}/receipt/twilio`, fields)
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-twilio-signature': signature }
  return { method: 'POST', headers, body: String(new URLSearchParams(fields)) } as const
}
