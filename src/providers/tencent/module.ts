import type { Clock } from '../../runtime/clock.ts'
import type { Values } from '../../settings/setting.ts'
import { templatesInUse } from '../check-approvals.ts'
import { checkLogin } from '../check-login.ts'
import { checkUnsignedReceipts } from '../check-receipts.ts'
import { type HttpLimits, longestExchangeMs } from '../http-exchange.ts'
import { type ChannelSettings, defineProvider, proxyOf, receiptKeys } from '../module.ts'
import type { TencentApiSettings } from './api.ts'
import { findTencentFaults, TENCENT_LIMITS, tencentSettings } from './settings.ts'

type TencentConfig = Values<typeof tencentSettings> & ChannelSettings

/** The enterprise's Tencent Cloud account. */
export const tencent = defineProvider({
  name: 'tencent',
  channel: 'sms',
  settings: tencentSettings,
  limits: TENCENT_LIMITS,
  findFaults: findTencentFaults,
  // It may be asked first what became of an earlier copy.
  longestAttemptMs: (_config, limits) => 2 * longestExchangeMs(limits),
  async open(config, { clock, limits, templates }) {
    const api = apiSettings(config, clock, limits)
    const { TENCENT_SMS_APP_ID: appId, TENCENT_SMS_SIGN_NAME: signName } = config
    if (api === undefined || appId === undefined) return undefined
    const { createTencentProvider } = await import('./provider.ts')
    return createTencentProvider({ ...api, appId, signName, templates })
  },
  async check(config, provider, templates) {
    const login = await checkLogin(
      provider,
      'look at TENCENT_SECRET_ID, TENCENT_SECRET_KEY and the clock of this machine, and at https://console.cloud.tencent.com/cam',
    )
    const settings = apiSettings(config, { now: Date.now }, TENCENT_LIMITS)
    if (login.is !== 'ok' || settings === undefined) return [login]
    const { checkTencentApprovals } = await import('./check.ts')
    const inUse = templatesInUse('tencent', templates, config.TENCENT_SMS_SIGN_NAME)
    return [
      login,
      ...(await checkTencentApprovals(settings, inUse)),
      checkUnsignedReceipts('Tencent', config),
    ]
  },
  clockUrl: config => (config.TENCENT_SECRET_ID === undefined ? undefined : config.TENCENT_API_URL),
  async openReceipts(config) {
    if (config.SMS_TOKEN === undefined || config.TENCENT_SECRET_ID === undefined) return undefined
    const { createTencentReceipts } = await import('./receipts.ts')
    return createTencentReceipts(receiptKeys('tencent', config))
  },
})

/** Gives the settings of the API; undefined: SMS is off, or does not go by Tencent. */
function apiSettings(
  config: TencentConfig,
  clock: Clock,
  limits: HttpLimits,
): TencentApiSettings | undefined {
  const { SMS_TOKEN, TENCENT_SECRET_ID: secretId, TENCENT_SECRET_KEY: secretKey } = config
  if (SMS_TOKEN === undefined || secretId === undefined || secretKey === undefined) return undefined
  return {
    secretId,
    secretKey,
    apiUrl: config.TENCENT_API_URL,
    region: config.TENCENT_SMS_REGION,
    proxy: proxyOf(config),
    clock,
    limits,
  }
}
