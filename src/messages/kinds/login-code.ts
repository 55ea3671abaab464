import type { Kind } from '../kind.ts'

/** SMS type 4: the code to sign in with. */
export const loginCode: Kind = {
  name: 'login-code',
  channel: 'sms',
  type: 4,
  purpose: 'code',
  needed: ['code'],
  also: ['minute'],
  life: 'minute',
  sample: { params: { code: '351706', minute: '5' } },
}
