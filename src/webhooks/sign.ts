import { createHmac } from 'node:crypto'

/** The headers that Standard Webhooks asks for (https://www.standardwebhooks.com, "Webhook metadata", version 1). */
export interface SignedHeaders extends Readonly<Record<string, string>> {
  readonly 'webhook-id': string
  readonly 'webhook-timestamp': string
  readonly 'webhook-signature': string
}

/** The keys of EVENTS_SECRET: base64 behind `whsec_`, several parted by spaces while one is being replaced. */
export function readSigningKeys(secrets: string): readonly Buffer[] {
  return secrets.split(/\s+/).map(secret => Buffer.from(secret.slice('whsec_'.length), 'base64'))
}

/**
 * Signs a payload with each of the keys: a receiver takes it that knows one of them.
 * @param id stays the same however often the payload is sent.
 * @param now ms since the epoch.
 */
export function signPayload(keys: readonly Buffer[], id: string, now: number, body: string): SignedHeaders {
  const timestamp = String(Math.floor(now / 1000))
  const signatures = keys.map(
    key => `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
  )
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
