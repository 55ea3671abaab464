import type { SmsSender } from '../../messages/message.ts'
import { type CheckResult, checkOk, checkWarning } from '../../runtime/check-result.ts'
import type { Values } from '../../settings/setting.ts'
import { checkLogin } from '../check-login.ts'
import { longestExchangeMs } from '../http-exchange.ts'
import { type ChannelSettings, defineProvider, proxyOf, receiptPath } from '../module.ts'
import { TWILIO_LIMITS } from './limits.ts'
import { findTwilioFaults, twilioSettings } from './settings.ts'

type TwilioConfig = Values<typeof twilioSettings> & ChannelSettings

export const twilio = defineProvider({
  name: 'twilio',
  channel: 'sms',
  settings: twilioSettings,
  limits: TWILIO_LIMITS,
  findFaults: findTwilioFaults,
  // It may be asked first what became of an earlier copy.
  longestAttemptMs: (_config, limits) => 2 * longestExchangeMs(limits),
  async open(config, { clock, limits }) {
    if (config.SMS_TOKEN === undefined || config.TWILIO_ACCOUNT_SID === undefined) return undefined
    const { TWILIO_API_KEY_SID: apiKeySid, TWILIO_API_KEY_SECRET: apiKeySecret } = config
    const receipts = receiptUrl(config)
    const { createTwilioProvider } = await import('./provider.ts')
    return createTwilioProvider({
      accountSid: config.TWILIO_ACCOUNT_SID,
      login:
        apiKeySid === undefined || apiKeySecret === undefined
          ? { authToken: config.TWILIO_AUTH_TOKEN ?? '' }
          : { apiKeySid, apiKeySecret },
      sender: senderOf(config),
      apiUrl: config.TWILIO_API_URL,
      proxy: proxyOf(config),
      concurrency: config.TWILIO_CONCURRENCY,
      // The URL has our id, since a report may be here before Twilio's answer has told its own.
      statusCallback: id => receipts && `${receipts}?id=${id}`,
      clock,
      limits,
    })
  },
  async check(config, provider) {
    const next =
      'look at TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN or the API key, and at https://console.twilio.com'
    return [await checkLogin(provider, next), checkReceipts(config)]
  },
  clockUrl: config => (config.TWILIO_ACCOUNT_SID === undefined ? undefined : config.TWILIO_API_URL),
  async openReceipts(config) {
    const url = receiptUrl(config)
    if (url === undefined) return undefined
    const { createTwilioReceipts } = await import('./receipts.ts')
    return createTwilioReceipts({ url, authToken: config.TWILIO_AUTH_TOKEN ?? '' })
  },
})

function senderOf(config: TwilioConfig): SmsSender | undefined {
  const { TWILIO_FROM: from, TWILIO_MESSAGING_SERVICE_SID: messagingServiceSid } = config
  if (from !== undefined) return { from }
  return messagingServiceSid === undefined ? undefined : { messagingServiceSid }
}

/**
 * Says where Twilio shall report what becomes of an SMS; undefined when it cannot: without PUBLIC_URL there is no address
 * to give, and without the Auth Token its signature cannot be checked (an API key does not sign).
 */
function receiptUrl(config: TwilioConfig): string | undefined {
  const { SMS_TOKEN, PUBLIC_URL, TWILIO_AUTH_TOKEN } = config
  if (SMS_TOKEN === undefined || PUBLIC_URL === undefined || TWILIO_AUTH_TOKEN === undefined) return undefined
  return `${PUBLIC_URL}${receiptPath('twilio')}`
}

/** Says whether Twilio can report what becomes of an SMS. */
function checkReceipts(config: TwilioConfig): CheckResult {
  const url = receiptUrl(config)
  if (url !== undefined) return checkOk('receipts', `Twilio reports what becomes of each SMS to ${url}`)
  const off = 'off: nobody will know whether an SMS reached its phone'
  if (config.TWILIO_AUTH_TOKEN === undefined)
    return checkWarning(
      'receipts',
      `${off}. Only an API key is set, and Twilio signs its reports with the Auth Token`,
      'set TWILIO_AUTH_TOKEN beside the API key; SMS are sent with the key all the same',
    )
  return checkWarning('receipts', `${off}. Twilio is not told where to report`, 'set PUBLIC_URL')
}
