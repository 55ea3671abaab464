import type { CallbackKind } from '../kind.ts'

/** SMS type 2: the code of somebody who forgot the password. */
export const forgottenPassword: CallbackKind = {
  name: 'forgotten-password',
  channel: 'sms',
  type: 2,
  purpose: 'code',
  required: ['code'],
  optional: ['minute'],
  sample: { params: { code: '275930', minute: '10' } },
}
