import {
  createGatewayStandIn,
  createInfobip,
  createVonage,
  type GatewayDialect,
  type GatewayStandIn,
} from '../../../sandbox/carriers/http-gateway.ts'
import { createAndroidPhone, createTelegram, createWhatsApp } from '../../../sandbox/carriers/messengers.ts'
import { type Gateway, parseGateways } from '../../../src/providers/http-gateway/definition.ts'
import { createGatewayProvider, type GatewaySettings } from '../../../src/providers/http-gateway/gateway.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { NO_TEMPLATES, type TemplateChoice } from '../../../src/providers/sms-templates.ts'
import { startStandIn } from '../../rigs/stand-in.ts'
import { CODE } from '../carrier.ts'
import { SHORT_HTTP } from '../short.ts'
import { outgoingSms } from '../sms.ts'

export const NUMBER = '+447400112233'
export const SECRET = 'canary-secret-51d0'

interface PlayedExample {
  readonly dialect: GatewayDialect
  readonly secrets: Readonly<Record<string, string>>
  /** What it says of refusals; without a code for content it has none. */
  readonly codes: { readonly recipient: string; readonly content?: string; readonly later: string }
  /** What it shows of a text from Courier. */
  readonly shows: (text: string) => { readonly body: string; readonly from?: string }
  readonly templates?: TemplateChoice
  /** Nobody knows its login before the first message. */
  readonly isUnchecked?: true
}

const texts = (body: string) => ({ body, from: 'Courier' })
/** The examples of docs/gateways/ that have a stand-in of their own. */
export const EXAMPLES: Readonly<
  Record<'vonage' | 'infobip' | 'telegram' | 'whatsapp' | 'android-phone', PlayedExample>
> = {
  vonage: {
    dialect: createVonage({ key: 'canary01', secret: SECRET }),
    secrets: { vonage_key: 'canary01', vonage_secret: SECRET },
    codes: { recipient: '7', content: '12', later: '1' },
    shows: texts,
  },
  infobip: {
    dialect: createInfobip({ key: SECRET }),
    secrets: { infobip_key: SECRET },
    codes: {
      recipient: 'REJECTED_DESTINATION',
      content: 'REJECTED_MESSAGE_TOO_LONG',
      later: 'E429',
    },
    shows: texts,
  },
  telegram: {
    dialect: createTelegram({ token: SECRET }),
    secrets: { telegram_token: SECRET },
    codes: { recipient: 'PHONE_NUMBER_NOT_FOUND', content: 'CODE_INVALID', later: 'FLOOD_WAIT_7' },
    shows: () => ({ body: CODE }),
    isUnchecked: true,
  },
  whatsapp: {
    dialect: createWhatsApp({ token: SECRET, phoneNumberId: '106540', template: 'login_code/en_US' }),
    secrets: { whatsapp_token: SECRET, whatsapp_phone_number_id: '106540' },
    codes: { recipient: '131026', later: '130429' },
    shows: () => ({ body: CODE }),
    templates: { templateFor: () => ({ template: 'login_code/en_US', params: [] }) },
  },
  'android-phone': {
    dialect: createAndroidPhone({ user: 'u', password: SECRET }),
    secrets: { android_user: 'u', android_password: SECRET },
    codes: { recipient: 'invalid phone number', later: 'http-503' },
    shows: body => ({ body }),
  },
}
export type Example = keyof typeof EXAMPLES

export const sms = (changes: Parameters<typeof outgoingSms>[0] = {}) =>
  outgoingSms({ to: NUMBER, country: 'GB', params: { code: CODE, minute: '5' }, ...changes })

/** The first gateway of a file. */
export function gatewayOf(text: string): Gateway {
  const read = parseGateways(text)
  if ('fault' in read) throw new Error(String(read.fault))
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
