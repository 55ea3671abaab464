import { callbackKeys } from '../callback/key.ts'
import type { Config } from '../config/config.ts'

/** The values to paste into the platform's console for one channel. */
export interface CallbackUrl {
  readonly channel: 'email' | 'sms'
  /** The URL; it holds the channel's key. */
  readonly url: string
  /** The setting whose value to paste as Token. */
  readonly setting: 'EMAIL_TOKEN' | 'SMS_TOKEN'
  readonly token: string
}

/**
 * Lists the values to paste into the platform's console, for each channel that is on.
 * @param base scheme, host and port as the platform reaches them.
 */
export function callbackUrls(config: Config, base: string): readonly CallbackUrl[] {
  return (['email', 'sms'] as const).flatMap(channel => {
    const name = channel === 'email' ? 'EMAIL' : 'SMS'
    const token = config[`${name}_TOKEN`]
    if (token === undefined) return []
    const corpId = config.CORP_ID
    const { current } = callbackKeys(channel, { corpId, token, ownKey: config[`${name}_CALLBACK_KEY`] })
    const url = `${base.replace(/\/+$/, '')}/callback/${encodeURIComponent(corpId)}/${current}/${channel}`
    return [{ channel, url, setting: `${name}_TOKEN` as const, token }]
  })
}
