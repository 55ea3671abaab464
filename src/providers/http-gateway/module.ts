import { checkLogin } from '../check-login.ts'
import { checkUnsignedReceipts } from '../check-receipts.ts'
import { longestExchangeMs } from '../http-exchange.ts'
import { defineFamily, type ProviderModule, proxyOf, receiptKeys, receiptPath } from '../module.ts'
import type { Gateway } from './definition.ts'
import { findGatewayFaults, GATEWAY_LIMITS, gatewaySettings } from './settings.ts'

/** HTTP gateways, each a carrier by its own name. */
export const httpGateway = defineFamily({
  name: 'http-gateway',
  channel: 'sms',
  settings: gatewaySettings,
  findFaults: findGatewayFaults,
  members: ({ SMS_GATEWAYS: gateways = [] }) => gateways.map(moduleOf),
})

function moduleOf(
  gateway: Gateway,
): ProviderModule<string, 'sms', typeof gatewaySettings, typeof GATEWAY_LIMITS> {
  const { name, reports } = gateway
  const { seconds } = gateway.limits
  const limits = { ...GATEWAY_LIMITS, ...(seconds !== undefined && { answerMs: seconds * 1000 }) }
  return {
    name,
    channel: 'sms',
    settings: gatewaySettings,
    limits,
    findFaults: () => [],
    longestAttemptMs: (_config, used) => longestExchangeMs(used),
    async open(config, { clock, limits: used, templates }) {
      if (config.SMS_TOKEN === undefined) return undefined
      const { createGatewayProvider } = await import('./provider.ts')
      const [key] = receiptKeys(name, config)
      const { PUBLIC_URL: base, SMS_GATEWAY_SECRETS: secrets = new Map() } = config
      const reportUrl =
        base === undefined || reports === undefined ? undefined : `${base}${receiptPath(name)}/${key}`
      return createGatewayProvider({
        gateway,
        secrets: new Map(gateway.secrets.map(each => [each, secrets.get(each) ?? ''])),
        templates,
        reportUrl,
        clock,
        limits: used,
        proxy: proxyOf(config),
      })
    },
    async check(config, provider) {
      const login = await checkLogin(
        provider,
        `look at ${name} in SMS_GATEWAYS_FILE, and at SMS_GATEWAY_SECRETS`,
      )
      return reports === undefined ? [login] : [login, checkUnsignedReceipts(name, config)]
    },
    async openReceipts(config) {
      if (config.SMS_TOKEN === undefined || reports === undefined) return undefined
      const { createGatewayReceipts } = await import('./receipts.ts')
      return createGatewayReceipts(name, reports, receiptKeys(name, config))
    },
  }
}
