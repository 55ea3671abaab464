import { hash, timingSafeEqual } from 'node:crypto'
import type { Channel } from '../messages/message.ts'
import type { Answer } from './answers.ts'
import { answer } from './answers.ts'
import { checkSignature, isFresh, type SignatureCheck } from './signature.ts'
import { createSignatureWatch, type SignatureNews, type SignatureStatistics } from './signature-statistics.ts'
import type { Sources } from './source-networks.ts'

declare const minted: unique symbol

/** A caller that the gate let in. Only the gate makes one, and later steps accept nothing else. */
export interface Caller {
  readonly [minted]: true
  readonly channel: Channel
  readonly corpId: string
}

export type AuthenticationResult =
  | {
      readonly ok: true
      readonly caller: Caller
      readonly signature: SignatureCheck
      /** It came by the URL that is being replaced. */
      readonly outdated: boolean
    }
  | {
      readonly ok: false
      readonly answer: Answer
      readonly reason: AuthenticationFailure
      readonly signature: SignatureCheck
    }

/** Why somebody was not let in: for counters and the console, never with what they sent. */
export type AuthenticationFailure = 'corp' | 'source' | 'key' | 'signature' | 'stale'

/** What a channel that is switched on accepts. Each list: the current one first, then its predecessor. */
export interface ChannelSecrets {
  readonly tokens: readonly string[]
  readonly keys: readonly string[]
}

export interface AuthenticationOptions {
  readonly corpId: string
  /** A channel without secrets is off. */
  readonly channels: Readonly<Partial<Record<Channel, ChannelSecrets>>>
  readonly sources: Sources
  readonly postSignature: 'observe' | 'required' | 'off'
  readonly signatureMaxAgeSeconds: number
  /** Wall time, ms since the epoch: the platform's timestamps are wall time. */
  readonly wall: () => number
  /** With `observe`: hears when what POSTs look like says something about `required`. */
  readonly signatureNews?: (news: SignatureNews) => void
}

export interface Credentials {
  readonly channel: Channel
  readonly corpId: string
  readonly key: string
  /** The raw query string, without `?`. */
  readonly query: string
  readonly socketAddress: string
  readonly forwardedFor: string | undefined
}

/** Decides who gets in: corp_id, source network, key, signature, in this order. */
export interface Authentication {
  /** GET: the signature must be right; freshness is not checked, since a validation has no effect. */
  authenticateValidation(knock: Credentials): AuthenticationResult
  /** POST: the signature by policy. */
  authenticatePost(knock: Credentials): AuthenticationResult
  /** A test send from the private listener, whose own guard has let its caller in. */
  operatorAsCaller(channel: Channel): Caller
  /** How POSTs come signed; counted with `observe` only. */
  signatureStatistics(channel: Channel): SignatureStatistics
}

export function createAuthentication(options: AuthenticationOptions): Authentication {
  const { corpId, channels, sources, postSignature, signatureMaxAgeSeconds, wall } = options
  const keys = {
    email: (channels.email?.keys ?? []).map(digestOf),
    sms: (channels.sms?.keys ?? []).map(digestOf),
  }
  const on = (['email', 'sms'] as const).filter(channel => channels[channel] !== undefined)
  const watch = createSignatureWatch(on, wall, options.signatureNews ?? (() => {}))

  /** Who is refused and why, or by which URL they come. */
  function knockOn(
    knock: Credentials,
  ): { readonly answer: Answer; readonly reason: AuthenticationFailure } | { readonly outdated: boolean } {
    const secrets = channels[knock.channel]
    if (knock.corpId !== corpId || secrets === undefined) {
      return { answer: answer('corp', 'no such enterprise, or this channel is off'), reason: 'corp' }
    }
    if (!sources.isAllowed(sources.callerOf(knock.socketAddress, knock.forwardedFor))) {
      return { answer: answer('credential', 'the caller is not among the allowed sources'), reason: 'source' }
    }
    const given = digestOf(knock.key)
    // No early exit: the time must not tell which key was nearly right.
    const matches = keys[knock.channel].map(key => timingSafeEqual(key, given))
    if (!matches.includes(true))
      return { answer: answer('credential', 'the key in the URL is wrong'), reason: 'key' }
    return { outdated: matches[0] !== true }
  }

  function signatureOf(knock: Credentials): ReturnType<typeof checkSignature> {
    return checkSignature(knock.query, corpId, channels[knock.channel]?.tokens ?? [])
  }

  function admitted(knock: Credentials, outdated: boolean, signature: SignatureCheck): AuthenticationResult {
    return { ok: true, caller: { channel: knock.channel, corpId } as Caller, signature, outdated }
  }

  return {
    operatorAsCaller: channel => ({ channel, corpId }) as Caller,
    signatureStatistics: channel => watch.statistics(channel),
    authenticateValidation(knock) {
      const knocked = knockOn(knock)
      if ('reason' in knocked) return { ok: false, ...knocked, signature: 'absent' }
      const { outdated } = knocked
      const { check } = signatureOf(knock)
      if (check === 'right') return admitted(knock, outdated, check)
      const message = check === 'absent' ? 'timestamp and signature are missing' : 'the signature is wrong'
      return { ok: false, answer: answer('credential', message), reason: 'signature', signature: check }
    },
    authenticatePost(knock) {
      const knocked = knockOn(knock)
      if ('reason' in knocked) return { ok: false, ...knocked, signature: 'absent' }
      const { outdated } = knocked
      if (postSignature === 'off') return admitted(knock, outdated, 'absent')
      const { check, timestamp } = signatureOf(knock)
      if (postSignature === 'observe') {
        const stale =
          check === 'right' && timestamp !== undefined && !isFresh(timestamp, wall(), signatureMaxAgeSeconds)
        watch.saw(knock.channel, stale ? 'stale' : check)
        return admitted(knock, outdated, check)
      }
      if (check !== 'right' || timestamp === undefined) {
        const message = check === 'absent' ? 'timestamp and signature are missing' : 'the signature is wrong'
        return { ok: false, answer: answer('credential', message), reason: 'signature', signature: check }
      }
      if (!isFresh(timestamp, wall(), signatureMaxAgeSeconds)) {
        return {
          ok: false,
          answer: answer('credential', 'the timestamp is too old or in the future'),
          reason: 'stale',
          signature: check,
        }
      }
      return admitted(knock, outdated, check)
    },
  }
}

/** Equal lengths for the comparison in constant time, whatever was sent. */
function digestOf(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
