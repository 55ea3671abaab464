import { randomInt } from 'node:crypto'
import { type CallbackAnswer, createCallbackClient } from '../../src/commands/callback-client.ts'
import { createSampleBody, findSampleKind } from '../sample-callbacks.ts'
import type { ContractChecker } from './contract.ts'

/** A URL of the customer's, as it would be entered in the console. */
export interface CallbackTarget {
  readonly url: string
  readonly corpId: string
  readonly token: string
}

/** A call of a callback URL, and its answer. */
export interface CallbackCall {
  /** ms since the epoch. */
  readonly at: number
  readonly title: string
  readonly answer: CallbackAnswer
  /** How the answer violates the contract; null: it does not. */
  readonly fault: string | null
}

/** Calls callback URLs as the platform does, and keeps what was answered. */
export interface CallbackCalls {
  /** Newest last, at most 100. */
  list(): readonly CallbackCall[]
  /** Validates the URL as the platform's console does. */
  validateUrl(target: CallbackTarget): Promise<CallbackCall>
  /** Sends an e-mail or an SMS of a kind; null: no such kind. */
  send(target: CallbackTarget, channel: 'email' | 'sms', kind: string): Promise<CallbackCall | null>
  clear(): void
  close(): Promise<void>
}

/** @param now ms since the epoch. @param changed called after each call. */
export function createCallbackCalls(
  contract: ContractChecker,
  now: () => number,
  changed: () => void,
): CallbackCalls {
  // Any certificate is accepted here: the service's `check` looks at certificates.
  const client = createCallbackClient({ insecure: true, now })
  let calls: readonly CallbackCall[] = []

  function remember(title: string, answer: CallbackAnswer): CallbackCall {
    const fault =
      answer.is === 'answered' && answer.body !== '' ? findAnswerFault(contract, answer.body) : null
    const call = { at: now(), title, answer, fault }
    calls = [...calls, call].slice(-100)
    changed()
    return call
  }

  return {
    list: () => calls,
    validateUrl: async ({ url, corpId, token }) =>
      remember('Validate URL', await client.validate(url, { corpId, token })),
    async send({ url }, channel, kind) {
      const found = findSampleKind(channel, kind)
      const body = createSampleBody(channel, kind, { mark: String(randomInt(100_000, 1_000_000)) })
      if (found === undefined || body === undefined) return null
      contract.validate('emulator', channel === 'email' ? 'e-mail callback' : 'SMS callback', body)
      return remember(found.title, await client.post(url, body))
    },
    clear() {
      calls = []
    },
    close: () => client.close(),
  }
}

/** How an answer violates the contract; null: it does not. */
function findAnswerFault(contract: ContractChecker, body: string): string | null {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    value = undefined
  }
  return contract.validate('client', 'callback answer', value ?? null)?.fault ?? null
}
