import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { BOUNCE_PATH, bounceKeys } from '../bounces/source.ts'
import { callbackKeys } from '../callback/authenticate.ts'
import type { Config } from '../config/config.ts'
import { reachableHost } from '../config/sources.ts'
import { modulesOf } from '../providers/list.ts'

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
 * @param base scheme, host and port as the platform reaches them, without a slash at its end.
 */
export function callbackUrls(config: Config, base: string): readonly CallbackUrl[] {
  return (['email', 'sms'] as const).flatMap(channel => {
    const name = channel === 'email' ? 'EMAIL' : 'SMS'
    const token = config[`${name}_TOKEN`]
    if (token === undefined) return []
    const corpId = config.CORP_ID
    const ownKey = config.CALLBACK_KEYS?.get(channel)
    const { current } = callbackKeys(channel, { corpId, token, ownKey })
    const url = `${base}/callback/${corpId}/${current}/${channel}`
    return [{ channel, url, setting: `${name}_TOKEN` as const, token }]
  })
}

/** The value to enter in the console of a carrier that does not sign its delivery reports. */
export interface ReportUrl {
  /** The provider's name. */
  readonly carrier: string
  /** The URL; it holds a key. */
  readonly url: string
}

/** Opens what the configured carriers report by. */
export async function openReceiptSources(config: Config) {
  const opened = modulesOf(config).map(async ({ name: provider, openReceipts }) => {
    const source = await openReceipts?.(config)
    return source === undefined ? [] : [{ provider, source }]
  })
  return (await Promise.all(opened)).flat()
}

/** Lists the report URLs of those configured carriers that do not sign. @param base as for `callbackUrls`. */
export async function reportUrls(config: Config, base: string): Promise<readonly ReportUrl[]> {
  return (await openReceiptSources(config)).flatMap(({ provider, source: { path, keys = [] } }) =>
    keys.slice(0, 1).map(key => ({ carrier: provider, url: `${base}${path}/${key}` })),
  )
}

/** The URL at which mails that came back are taken; null while e-mail is off. @param base as for `callbackUrls`. */
export function bounceUrl(config: Config, base: string): string | null {
  const [key] = bounceKeys(config)
  return key === undefined ? null : `${base}${BOUNCE_PATH}/${key}`
}

/** The URLs to paste into the platform's console, by channel, and where a mail server hands over what came back. */
export interface CallbackUrls {
  readonly email?: string
  readonly sms?: string
  readonly bounces?: string
}

/** @param base as for `callbackUrls`. */
export function urlsByChannel(config: Config, base: string): CallbackUrls {
  const bounces = bounceUrl(config, base)
  const urls = Object.fromEntries(callbackUrls(config, base).map(({ channel, url }) => [channel, url]))
  return { ...urls, ...(bounces !== null && { bounces }) }
}

/** Reads the host of a URL; an IPv6 address without its brackets. */
export function hostNameOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '')
}

/** The URL of a listener, as this machine reaches it. */
export function urlOf({ server }: FastifyInstance, isTls: boolean): string {
  const { address, port } = server.address() as AddressInfo
  return `${isTls ? 'https' : 'http'}://${reachableHost(address)}:${port}`
}
