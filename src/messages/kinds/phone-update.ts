import type { CallbackKind } from '../kind.ts'

/** SMS type 3: the code that confirms a new phone number. */
export const phoneUpdate: CallbackKind = {
  name: 'phone-update',
  channel: 'sms',
  type: 3,
  purpose: 'code',
  required: ['code'],
  optional: ['minute'],
  sample: { params: { code: '918264', minute: '5' } },
}
