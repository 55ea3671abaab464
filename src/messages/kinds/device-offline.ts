import type { MessageKind } from '../kind.ts'

/** A device lost its connection to the platform. Never called back by the platform, so it has no type. */
export const deviceOffline: MessageKind = {
  name: 'device-offline',
  channel: 'email',
  purpose: 'alarm',
  required: ['device'],
  optional: ['product', 'project', 'time'],
  sample: {
    params: {
      device: '1144502133',
      product: '1607d2b64f8a1f41',
      project: 'ac0401',
      time: '2026-11-20 14:32:05 UTC',
    },
  },
}

export const deviceOfflineSms: MessageKind = { ...deviceOffline, channel: 'sms' }
