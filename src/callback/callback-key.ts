import { createHmac } from 'node:crypto'

/**
 * Derives the secret part of a callback URL, `/callback/{corp_id}/{key}/{channel}`, when the operator gave none: the first
 * 32 hex digits of HMAC-SHA256(key = the channel's Token, message = `callback-courier/<channel>/<corp_id>`). The key
 * needs no configuration then, and cannot be guessed as long as the Token cannot.
 */
export function deriveCallbackKey(channel: 'email' | 'sms', corpId: string, token: string): string {
  return createHmac('sha256', token)
    .update(`callback-courier/${channel}/${corpId}`, 'utf8')
    .digest('hex')
    .slice(0, 32)
}

/** The settings of a channel that its keys follow from. */
export interface KeySettings {
  readonly corpId: string
  readonly token: string
  readonly tokenPrevious?: string | undefined
  /** The operator's own key, and the one it replaces. */
  readonly ownKey?: string | undefined
  readonly ownKeyPrevious?: string | undefined
}

/**
 * Lists the keys of a channel: `current` stands in the URL to paste, and each of `accepted` opens it, so that the platform's
 * console may be changed later than the service. When the operator has set a key, the URL does not depend on the Token, and no
 * derived key is accepted; otherwise the previous Token's derived key is.
 */
export function callbackKeys(
  channel: 'email' | 'sms',
  settings: KeySettings,
): { readonly current: string; readonly accepted: readonly string[] } {
  const { corpId, token, tokenPrevious, ownKey, ownKeyPrevious } = settings
  const current = ownKey ?? deriveCallbackKey(channel, corpId, token)
  const accepted = [current]
  if (ownKeyPrevious !== undefined) accepted.push(ownKeyPrevious)
  if (ownKey === undefined && tokenPrevious !== undefined)
    accepted.push(deriveCallbackKey(channel, corpId, tokenPrevious))
  return { current, accepted }
}
