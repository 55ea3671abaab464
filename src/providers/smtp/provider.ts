import type { ConnectionOptions } from 'node:tls'
import type { Clock } from '../../runtime/clock.ts'
import type { Outcome, Provider } from '../provider.ts'
import { createSmtpConnection, type SmtpConnection } from './connection.ts'
import { SMTP_LIMITS, type SmtpLimits } from './limits.ts'
import { readSmtpUrl } from './url.ts'

export interface SmtpSettings {
  readonly name: 'smtp' | 'smtp-fallback'
  /** See readSmtpUrl. */
  readonly url: string
  /** How many connections at most; one message at a time each. */
  readonly connections?: number
  /** What EHLO says: a name of ours that resolves. Without a real one some servers look it up for seconds. */
  readonly ehloName: string
  /** Envelope sender: where bounces go. */
  readonly bounceTo: string
  readonly dkim?: { readonly domain: string; readonly selector: string; readonly privateKey: string }
  readonly limits?: Partial<SmtpLimits>
  /** What a message's `expiresAt` counts by; the machine's clock unless given. */
  readonly clock?: Clock
  /** Additional TLS options, such as `ca`. */
  readonly tls?: ConnectionOptions
}

/**
 * Sends mail through an SMTP server over kept connections, each message in an envelope of its own.
 *
 * @throws TypeError when the URL is not one of readSmtpUrl's.
 */
export function createSmtpProvider(settings: SmtpSettings): Provider {
  const { name, connections = 10, ehloName, bounceTo, dkim, tls, clock = { now: Date.now } } = settings
  const address = readSmtpUrl(settings.url)
  if ('wrong' in address) throw new TypeError(`the SMTP URL ${address.wrong}`)
  const limits = { ...SMTP_LIMITS, ...settings.limits }
  const open = (): SmtpConnection =>
    createSmtpConnection({
      address,
      limits,
      ehloName,
      bounceTo,
      clock,
      dkim,
      tls,
    })
  const lanes = Array.from({ length: connections }, open)
  // The last one back is the first one out, so that at a low rate a few connections stay warm and the rest close.
  const free = [...lanes]
  const waiting: ((lane: SmtpConnection | undefined) => void)[] = []
  let closed = false

  async function lane(signal: AbortSignal): Promise<SmtpConnection | undefined> {
    const next = free.pop()
    if (next) return next
    return new Promise(resolve => {
      const leave = (): void => {
        waiting.splice(waiting.indexOf(take), 1)
        resolve(undefined)
      }
      const take = (given: SmtpConnection | undefined): void => {
        signal.removeEventListener('abort', leave)
        resolve(given)
      }
      waiting.push(take)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  function giveBack(given: SmtpConnection): void {
    const next = waiting.shift()
    if (next) next(given)
    else free.push(given)
  }

  return {
    name,
    channel: 'email',
    concurrency: connections,
    async send(message, signal): Promise<Outcome> {
      if (message.channel !== 'email') throw new TypeError(`${name} sends e-mail, not ${message.channel}`)
      if (signal.aborted) return notBegun('aborted', 'stopped by us')
      const given = closed ? undefined : await lane(signal)
      if (!given)
        return closed ? notBegun('closed', 'the provider was closed') : notBegun('aborted', 'stopped by us')
      try {
        return await given.send(message, signal)
      } finally {
        giveBack(given)
      }
    },
    async verify() {
      const trial = open()
      try {
        return await trial.verify()
      } finally {
        await trial.close()
      }
    },
    async close() {
      closed = true
      for (const leave of waiting.splice(0)) leave(undefined)
      await Promise.all(lanes.map(each => each.close()))
    },
  }
}

function notBegun(code: string, reply: string): Outcome {
  return { is: 'retry', whose: 'later', code, reply, untouched: true }
}
