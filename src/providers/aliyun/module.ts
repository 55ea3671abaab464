import type { Clock } from '../../runtime/clock.ts'
import type { Values } from '../../settings/setting.ts'
import { templatesInUse } from '../check-approvals.ts'
import { checkLogin } from '../check-login.ts'
import { checkUnsignedReceipts } from '../check-receipts.ts'
import { type HttpLimits, longestExchangeMs } from '../http-exchange.ts'
import { type ChannelSettings, defineProvider, proxyOf, receiptKeys } from '../module.ts'
import type { AliyunApiSettings } from './api.ts'
import { ALIYUN_LIMITS, aliyunSettings, findAliyunFaults } from './settings.ts'

type AliyunConfig = Values<typeof aliyunSettings> & ChannelSettings

/** The enterprise's Aliyun (Alibaba Cloud) account. */
export const aliyun = defineProvider({
  name: 'aliyun',
  channel: 'sms',
  settings: aliyunSettings,
  limits: ALIYUN_LIMITS,
  findFaults: findAliyunFaults,
  // It may be asked first what became of an earlier copy.
  longestAttemptMs: (_config, limits) => 2 * longestExchangeMs(limits),
  async open(config, { clock, limits, templates }) {
    const api = apiSettings(config, clock, limits)
    if (api === undefined) return undefined
    const { createAliyunProvider } = await import('./provider.ts')
    return createAliyunProvider({ ...api, templates, signName: config.ALIYUN_SMS_SIGN_NAME })
  },
  async check(config, provider, templates) {
    const login = await checkLogin(
      provider,
      'look at ALIYUN_ACCESS_KEY_ID, ALIYUN_ACCESS_KEY_SECRET and the clock of this machine, and at https://ram.console.aliyun.com',
    )
    const settings = apiSettings(config, { now: Date.now }, ALIYUN_LIMITS)
    if (login.is !== 'ok' || settings === undefined) return [login]
    const { checkAliyunApprovals } = await import('./check.ts')
    const inUse = templatesInUse('aliyun', templates, config.ALIYUN_SMS_SIGN_NAME)
    return [login, ...(await checkAliyunApprovals(settings, inUse)), checkUnsignedReceipts('Aliyun', config)]
  },
  clockUrl: config => (config.ALIYUN_ACCESS_KEY_ID === undefined ? undefined : config.ALIYUN_API_URL),
  async openReceipts(config) {
    if (config.SMS_TOKEN === undefined || config.ALIYUN_ACCESS_KEY_ID === undefined) return undefined
    const { createAliyunReceipts } = await import('./receipts.ts')
    return createAliyunReceipts(receiptKeys('aliyun', config))
  },
})

/** Gives the settings of the API; undefined: SMS is off, or does not go by Aliyun. */
function apiSettings(config: AliyunConfig, clock: Clock, limits: HttpLimits): AliyunApiSettings | undefined {
  const { SMS_TOKEN, ALIYUN_ACCESS_KEY_ID: keyId, ALIYUN_ACCESS_KEY_SECRET: secret } = config
  if (SMS_TOKEN === undefined || keyId === undefined || secret === undefined) return undefined
  return { keyId, secret, apiUrl: config.ALIYUN_API_URL, proxy: proxyOf(config), clock, limits }
}
