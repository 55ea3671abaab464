import type { CallbackKind } from '../kind.ts'

/** E-mail type 2: the link that lets a user choose a new password. */
export const passwordReset: CallbackKind = {
  name: 'password-reset',
  channel: 'email',
  type: 2,
  purpose: 'link',
  required: ['url'],
  optional: ['hour'],
  linkParam: 'url',
  sample: {
    subject: 'Reset your password',
    params: { url: 'https://console.example.com/reset?token=Zm9vYmFyLTEyMzQ1Njc4&step=2', hour: '2' },
  },
}
