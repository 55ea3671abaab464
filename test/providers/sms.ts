import { randomBytes } from 'node:crypto'
import type { OutgoingSms } from '../../src/messages/message.ts'
import { faultScopeOf, type Outcome } from '../../src/providers/provider.ts'

/** A new SMS as data, with a code; its text names its id. */
export function outgoingSms(changes: Partial<OutgoingSms> = {}): OutgoingSms {
  const id = changes.id ?? randomBytes(16).toString('hex')
  const params = changes.params ?? { code: '607182', minute: '10' }
  return {
    channel: 'sms',
    id,
    to: '+15005550010',
    country: 'US',
    kind: 'login-code',
    params,
    locale: 'en',
    content: { params, words: 'ours' },
    expiresAt: Date.now() + 600_000,
    text: () => `${id}: your code is ${params['code']}`,
    ...changes,
  }
}

/** An outcome in the words of a carrier's codes. */
export function judgementOf(outcome: Outcome): { readonly verdict: string; readonly scope?: string } {
  if (outcome.is === 'sent') return { verdict: 'ok' }
  const scope = faultScopeOf(outcome)
  switch (outcome.is) {
    case 'rejected':
      return { verdict: scope === 'recipient' || scope === 'country' ? scope : 'content', scope }
    case 'retry':
      return { verdict: outcome.whose, scope }
    default:
      return { verdict: outcome.is, scope }
  }
}
