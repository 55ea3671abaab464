import type { CallbackKind } from '../kind.ts'

/** E-mail type 8: a device of the enterprise raised an alarm. */
export const memberAlarm: CallbackKind = {
  name: 'member-alarm',
  channel: 'email',
  type: 8,
  purpose: 'alarm',
  required: [],
  optional: ['username', 'corporation', 'productName', 'time', 'email'],
  sample: {
    subject: 'Device alarm',
    params: {
      username: 'Lin Wei',
      corporation: 'Northwind Cold Chain',
      productName: 'Freezer sensor T2',
      time: '2026-11-20 14:32:05',
      email: 'lin.wei@example.com',
    },
  },
}
