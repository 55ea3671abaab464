import type { CallbackKind } from '../kind.ts'

/** SMS type 4: the code to sign in with. */
export const loginCode: CallbackKind = {
  name: 'login-code',
  channel: 'sms',
  type: 4,
  purpose: 'code',
  required: ['code'],
  optional: ['minute'],
  sample: { params: { code: '351706', minute: '5' } },
}
