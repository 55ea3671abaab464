import type { CallbackKind } from '../kind.ts'

/**
 * E-mail type 6: the code that recovers a password. The contract prints its layout under another number and without
 * `code`; without one there is nothing to say but the plain text.
 */
export const recoveryCode: CallbackKind = {
  name: 'recovery-code',
  channel: 'email',
  type: 6,
  purpose: 'code',
  required: ['code'],
  optional: ['hour'],
  sample: { subject: 'Recover your password', params: { code: '096471', hour: '1' } },
}
