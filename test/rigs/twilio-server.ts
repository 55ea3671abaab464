import type { CarrierFault } from '../../sandbox/carriers/api-server.ts'
import { createTwilioStandIn, type TwilioMessage, type TwilioRequest } from '../../sandbox/carriers/twilio.ts'
import { ownHost } from './own-host.ts'

export const ACCOUNT_SID = 'AC0123456789abcdef0123456789abcdef'
export const AUTH_TOKEN = 'canary-auth-token-5f2d'
export const KEY_SID = 'SK0123456789abcdef0123456789abcdef'
export const KEY_SECRET = 'canary-key-secret-91ce'

export interface TwilioServer {
  /** What to set as the provider's `apiUrl`. */
  readonly url: string
  readonly messages: readonly TwilioMessage[]
  readonly requests: readonly TwilioRequest[]
  readonly openConnections: () => number
  /** What to do with a request from now on; undefined: behave. */
  fault: ((request: TwilioRequest) => CarrierFault | undefined) | undefined
  /** Stops listening and drops every connection, so that connecting is refused. */
  close(): Promise<void>
}

/** A recording Twilio on loopback that can misbehave. Listens when it resolves. */
export async function startTwilioServer(): Promise<TwilioServer> {
  const rig: Pick<TwilioServer, 'fault'> = { fault: undefined }
  const standIn = createTwilioStandIn({
    accountSid: ACCOUNT_SID,
    authToken: AUTH_TOKEN,
    keys: { [KEY_SID]: KEY_SECRET },
    fault: request => rig.fault?.(request),
  })
  const host = ownHost()
  const { port } = await standIn.listen(0, host)
  return {
    url: `http://${host}:${port}`,
    messages: standIn.messages,
    requests: standIn.requests,
    openConnections: () => standIn.connections(),
    close: () => standIn.close(),
    get fault() {
      return rig.fault
    },
    set fault(fault) {
      rig.fault = fault
    },
  }
}
