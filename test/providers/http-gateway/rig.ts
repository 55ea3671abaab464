import {
  createGatewayStandIn,
  createInfobip,
  createVonage,
  type GatewayDialect,
  type GatewayStandIn,
} from '../../../sandbox/carriers/http-gateway.ts'
import { type Gateway, parseGateways } from '../../../src/providers/http-gateway/definition.ts'
import { createGatewayProvider, type GatewaySettings } from '../../../src/providers/http-gateway/gateway.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { NO_TEMPLATES } from '../../../src/providers/sms-templates.ts'
import { startStandIn } from '../../rigs/stand-in.ts'
import { CODE } from '../carrier.ts'
import { SHORT_HTTP } from '../short.ts'
import { outgoingSms } from '../sms.ts'

export const NUMBER = '+447400112233'
export const SECRET = 'canary-secret-51d0'

/** The examples of docs/gateways/, each with what it says of refusals. */
export const EXAMPLES = {
  vonage: {
    dialect: createVonage({ key: 'canary01', secret: SECRET }),
    secrets: { vonage_key: 'canary01', vonage_secret: SECRET },
    codes: { recipient: '7', content: '12', later: '1' },
  },
  infobip: {
    dialect: createInfobip({ key: SECRET }),
    secrets: { infobip_key: SECRET },
    codes: {
      recipient: 'REJECTED_DESTINATION',
      content: 'REJECTED_MESSAGE_TOO_LONG',
      later: 'E429',
    },
  },
} as const
export type Example = keyof typeof EXAMPLES

export const sms = (changes: Parameters<typeof outgoingSms>[0] = {}) =>
  outgoingSms({ to: NUMBER, country: 'GB', params: { code: CODE, minute: '5' }, ...changes })

/** The first gateway of a file. */
export function gatewayOf(text: string): Gateway {
  const read = parseGateways(text)
  if ('fault' in read) throw new Error(read.fault)
  const [gateway] = read.value
  if (gateway === undefined) throw new Error('no gateway')
  return gateway
}

export function open(
  gateway: Gateway,
  secrets: Readonly<Record<string, string>>,
  changes: Partial<GatewaySettings> = {},
): Provider {
  return createGatewayProvider({
    gateway: { ...gateway, concurrency: 2 },
    secrets: new Map(Object.entries(secrets)),
    templates: NO_TEMPLATES,
    reportUrl: 'https://courier.example.com/receipt/x/key',
    clock: { now: Date.now },
    limits: SHORT_HTTP,
    ...changes,
  })
}

export function startServer(dialect: GatewayDialect) {
  return startStandIn<GatewayStandIn>(fault => createGatewayStandIn(dialect, { fault }))
}
