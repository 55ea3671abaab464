import type { MessageKind } from '../kind.ts'

/** A device reported an event of its thing model. Never called back by the platform, so it has no type. */
export const deviceEvent: MessageKind = {
  name: 'device-event',
  channel: 'email',
  purpose: 'alarm',
  required: ['device'],
  optional: ['event', 'values', 'product', 'time'],
  sample: {
    params: {
      device: '1144502133',
      event: 'door_forced',
      values: 'door: 2, battery: 71',
      product: '1607d2b64f8a1f41',
      time: '2026-11-20 14:32:05 UTC',
    },
  },
}

export const deviceEventSms: MessageKind = { ...deviceEvent, channel: 'sms' }
