import type { CallbackKind } from '../kind.ts'

/**
 * E-mail type 5: the code that activates a registration. The layout printed with this number is labelled as the
 * password recovery code, so its words must be true for that as well.
 */
export const activationCode: CallbackKind = {
  name: 'activation-code',
  channel: 'email',
  type: 5,
  purpose: 'code',
  required: ['code'],
  optional: ['hour'],
  sample: { subject: 'Your activation code', params: { code: '730254', hour: '1' } },
}
