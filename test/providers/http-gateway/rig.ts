import type { CarrierFault } from '../../../sandbox/carriers/api-server.ts'
import {
  createGatewayStandIn,
  createInfobip,
  createVonage,
  type GatewayDialect,
  type GatewayStandIn,
  readExample,
} from '../../../sandbox/carriers/http-gateway.ts'
import { type Gateway, parseGateways } from '../../../src/providers/http-gateway/definition.ts'
import { createGatewayProvider, type GatewaySettings } from '../../../src/providers/http-gateway/gateway.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { NO_TEMPLATES } from '../../../src/providers/sms-templates.ts'
import { ownHost } from '../../rigs/own-host.ts'
import type { Behaviour, ContractRig } from '../contract.ts'
import { SHORT_HTTP } from '../short.ts'
import { outgoingSms } from '../sms.ts'
import { mail } from '../smtp/rig.ts'

export const NUMBER = '+447400112233'
export const CODE = '607182'
const SECRET = 'canary-secret-51d0'

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

export interface GatewayServer {
  readonly url: string
  readonly standIn: GatewayStandIn
  /** What to do with a request from now on; undefined: behave. */
  fault: CarrierFault | undefined
}

export async function startServer(dialect: GatewayDialect): Promise<GatewayServer> {
  const rig: { fault: GatewayServer['fault'] } = { fault: undefined }
  const standIn = createGatewayStandIn(dialect, { fault: () => rig.fault })
  const host = ownHost()
  const { port } = await standIn.listen(0, host)
  return Object.assign(rig, { standIn, url: `http://${host}:${port}` })
}

const ECHO = `${NUMBER} ${NUMBER.slice(1)} ${CODE} https://platform.example/canaryLink ${SECRET}`

/** One of the examples against its stand-in. */
export async function startContract(example: Example): Promise<ContractRig> {
  const { dialect, secrets, codes } = EXAMPLES[example]
  const server = await startServer(dialect)
  const gateway = gatewayOf(readExample(example, server.url))
  const wrong = Object.fromEntries(Object.keys(secrets).map(name => [name, 'canary-wrong']))
  const [provider, wrongLogin] = [open(gateway, secrets), open(gateway, wrong)]
  const refuse = (code: string): CarrierFault => ({ is: 'answer', ...dialect.refusal(code, ECHO) })
  const faults: Readonly<Record<Exclude<Behaviour, 'well'>, CarrierFault>> = {
    'refuse-recipient': refuse(codes.recipient),
    'refuse-content': refuse(codes.content),
    'refuse-for-now': refuse(codes.later),
    'stall-after-message': { is: 'stall', accept: true },
    'drop-after-message': { is: 'reset', accept: true },
    garbage: { is: 'answer', status: 502, body: `<html>${ECHO}</html>` },
  }
  return {
    provider,
    wrongLogin,
    message: sms,
    foreign: mail(),
    recipient: NUMBER,
    secrets: [NUMBER.slice(3), CODE, 'canaryLink', SECRET, 'canary-wrong'],
    arrived: () => server.standIn.messages.map(({ ref }) => ref),
    sockets: () => server.standIn.connections(),
    behave(how) {
      server.fault = how === 'well' ? undefined : faults[how]
    },
    goDown: async () => server.standIn.close(),
    async end() {
      await Promise.all([provider.close(), wrongLogin.close(), server.standIn.close()])
    },
  }
}
