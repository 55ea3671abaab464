import type { Kind } from '../kind.ts'

/** SMS type 1: the code that confirms a registration. */
export const registrationCode: Kind = {
  name: 'registration-code',
  channel: 'sms',
  type: 1,
  purpose: 'code',
  needed: ['code'],
  also: ['minute'],
  life: 'minute',
  sample: { params: { code: '604817', minute: '10' } },
}
