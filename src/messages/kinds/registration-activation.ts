import type { CallbackKind } from '../kind.ts'

/** E-mail type 1: the link that activates a new account. */
export const registrationActivation: CallbackKind = {
  name: 'registration-activation',
  channel: 'email',
  type: 1,
  purpose: 'link',
  required: ['url'],
  optional: ['hour'],
  linkParam: 'url',
  sample: {
    subject: 'Activate your account',
    params: { url: 'https://console.example.com/#!activate/c2FtcGxlLWNvZGU=?lang=en&from=mail', hour: '24' },
  },
}
