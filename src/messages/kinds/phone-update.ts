import type { Kind } from '../kind.ts'

/** SMS type 3: the code that confirms a new phone number. */
export const phoneUpdate: Kind = {
  name: 'phone-update',
  channel: 'sms',
  type: 3,
  purpose: 'code',
  needed: ['code'],
  also: ['minute'],
  life: 'minute',
  sample: { params: { code: '918264', minute: '5' } },
}
