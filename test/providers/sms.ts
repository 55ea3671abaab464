import { randomBytes } from 'node:crypto'
import type { OutgoingSms } from '../../src/messages/message.ts'

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
    expiresAt: Date.now() + 600_000,
    text: () => `${id}: your code is ${params['code']}`,
    ...changes,
  }
}
