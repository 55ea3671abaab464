import type { Kind } from '../kind.ts'

/** SMS type 2: the code of somebody who forgot the password. */
export const forgottenPassword: Kind = {
  name: 'forgotten-password',
  channel: 'sms',
  type: 2,
  purpose: 'code',
  needed: ['code'],
  also: ['minute'],
  life: 'minute',
  sample: { params: { code: '275930', minute: '10' } },
}
