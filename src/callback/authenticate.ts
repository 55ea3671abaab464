import { timingSafeEqual } from 'node:crypto'
import type { Channel } from '../messages/message.ts'
import { hashSecret } from '../runtime/secret-digest.ts'
import { type Answer, createAnswer } from './answers.ts'
import { checkSignature, isFresh, type SignatureCheck } from './signature.ts'
import { createSignatureStatistics, type SignatureNews } from './signature-statistics.ts'
import type { SourceNetworks } from './source-networks.ts'

declare const minted: unique symbol

/** A caller that was authenticated. Nothing else makes one, and later steps accept nothing else. */
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

/** The reasons why a request is refused, for counters and the console; never with what it sent. */
export type AuthenticationFailure = 'corp' | 'source' | 'key' | 'signature' | 'stale'

/** The Tokens and keys that an enabled channel accepts, each list with the current one first, then its predecessor. */
export interface ChannelSecrets {
  readonly tokens: readonly string[]
  readonly keys: readonly string[]
}

export interface AuthenticationOptions {
  readonly corpId: string
  /** A channel without secrets is off. */
  readonly channels: Readonly<Partial<Record<Channel, ChannelSecrets>>>
  readonly sources: SourceNetworks
  readonly postSignature: 'observe' | 'required' | 'off'
  readonly signatureMaxAgeSeconds: number
  /** Wall time, ms since the epoch: the platform's timestamps are wall time. */
  readonly wall: () => number
  /** Called with `observe`, when the POSTs so far say something about `required`. */
  readonly signatureNews?: (news: SignatureNews) => void
}

/** The parts of a request that say who sent it. */
export interface Credentials {
  readonly channel: Channel
  readonly corpId: string
  readonly key: string
  /** The raw query string, without `?`. */
  readonly query: string
  readonly socketAddress: string
  readonly forwardedFor: string | undefined
}

export type Authentication = ReturnType<typeof createAuthentication>

/** Decides whose requests are served: corp_id, source network, key, signature, in this order. */
export function createAuthentication(options: AuthenticationOptions) {
  const { corpId, channels, sources, postSignature, signatureMaxAgeSeconds, wall } = options
  const keys = {
    email: (channels.email?.keys ?? []).map(hashSecret),
    sms: (channels.sms?.keys ?? []).map(hashSecret),
  }
  const enabled = (['email', 'sms'] as const).filter(channel => channels[channel] !== undefined)
  const statistics = createSignatureStatistics(enabled, wall, options.signatureNews ?? (() => {}))

  /** Checks everything but the signature, which the result calls absent. */
  function authenticateKey(credentials: Credentials): AuthenticationResult {
    const { channel, socketAddress, forwardedFor } = credentials
    if (credentials.corpId !== corpId || channels[channel] === undefined)
      return refuse('corp', 'no such enterprise, or this channel is off')
    if (!sources.isAllowed(socketAddress, forwardedFor))
      return refuse('source', 'the caller is not among the allowed sources')
    const digest = hashSecret(credentials.key)
    // No early exit: the time must not tell which key was nearly right.
    const matches = keys[channel].map(key => timingSafeEqual(key, digest))
    if (!matches.includes(true)) return refuse('key', 'the key in the URL is wrong')
    return {
      ok: true,
      caller: { channel, corpId } as Caller,
      signature: 'absent',
      outdated: matches[0] !== true,
    }
  }

  return {
    /** A test send from the private listener, which has authenticated its caller itself. */
    operatorAsCaller: (channel: Channel): Caller => ({ channel, corpId }) as Caller,
    /** The counts of right, wrong and missing signatures of POSTs; only `observe` counts them. */
    signatureStatistics: statistics.statisticsOf,
    /** GET: the signature must be right; freshness is not checked, since a validation has no effect. */
    authenticateValidation(credentials: Credentials): AuthenticationResult {
      const result = authenticateKey(credentials)
      if (!result.ok) return result
      const { check } = checkSignature(credentials.query, corpId, channels[credentials.channel]?.tokens ?? [])
      return check === 'right' ? { ...result, signature: check } : refuseSignature(check)
    },
    /** POST: the signature by policy. */
    authenticatePost(credentials: Credentials): AuthenticationResult {
      const { channel, query } = credentials
      const result = authenticateKey(credentials)
      if (!result.ok || postSignature === 'off') return result
      const { check, timestamp } = checkSignature(query, corpId, channels[channel]?.tokens ?? [])
      const stale = timestamp !== undefined && !isFresh(timestamp, wall(), signatureMaxAgeSeconds)
      if (postSignature === 'observe') statistics.count(channel, stale ? 'stale' : check)
      else if (check !== 'right') return refuseSignature(check)
      else if (stale) return refuse('stale', 'the timestamp is too old or in the future', check)
      return { ...result, signature: check }
    },
  }
}

function refuse(
  reason: AuthenticationFailure,
  message: string,
  signature: SignatureCheck = 'absent',
): AuthenticationResult {
  const name = reason === 'corp' ? 'corp' : 'credential'
  return { ok: false, answer: createAnswer(name, message), reason, signature }
}

function refuseSignature(check: SignatureCheck): AuthenticationResult {
  const message = check === 'absent' ? 'timestamp and signature are missing' : 'the signature is wrong'
  return refuse('signature', message, check)
}
