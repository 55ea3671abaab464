import type { MessageKind } from '../kind.ts'

/** A rule of the platform's is broken by a device. Never called back by the platform, so it has no type. */
export const deviceAlert: MessageKind = {
  name: 'device-alert',
  channel: 'email',
  purpose: 'alarm',
  required: ['device'],
  optional: ['product', 'mac', 'rule', 'condition', 'content', 'current', 'count', 'time', 'since'],
  sample: {
    params: {
      device: '1144502133',
      product: '1607d2b64f8a1f41',
      mac: 'A4C138F0112B',
      rule: 'rule-temperature',
      condition: 'Temperature above -15 C for 5 minutes',
      content: 'Freezer too warm: check the door',
      current: '-11.5',
      count: '3',
      time: '2026-11-20 14:32:05 UTC',
      since: '2026-11-20 14:27:05 UTC',
    },
  },
}

export const deviceAlertSms: MessageKind = { ...deviceAlert, channel: 'sms' }
