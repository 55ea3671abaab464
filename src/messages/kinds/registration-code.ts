import type { CallbackKind } from '../kind.ts'

/** SMS type 1: the code that confirms a registration. */
export const registrationCode: CallbackKind = {
  name: 'registration-code',
  channel: 'sms',
  type: 1,
  purpose: 'code',
  required: ['code'],
  optional: ['minute'],
  sample: { params: { code: '604817', minute: '10' } },
}
