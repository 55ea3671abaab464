import type { Kind } from '../kind.ts'

/** E-mail type 1: the link that activates a new account. */
export const registrationActivation: Kind = {
  name: 'registration-activation',
  channel: 'email',
  type: 1,
  purpose: 'link',
  needed: ['url'],
  also: ['hour'],
  link: 'url',
  life: 'hour',
  sample: {
    subject: 'Activate your account',
    params: { url: 'https://console.example.com/#!activate/c2FtcGxlLWNvZGU=?lang=en&from=mail', hour: '24' },
  },
}
