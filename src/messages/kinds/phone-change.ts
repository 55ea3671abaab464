import type { CallbackKind } from '../kind.ts'

/**
 * E-mail type 3: the code that confirms a change of phone number. The contract prints the same layout for the
 * activation code, so its words must be true for that as well.
 */
export const phoneChange: CallbackKind = {
  name: 'phone-change',
  channel: 'email',
  type: 3,
  purpose: 'code',
  required: ['code'],
  optional: ['hour'],
  sample: { subject: 'Change your phone number', params: { code: '428913', hour: '0.5' } },
}
