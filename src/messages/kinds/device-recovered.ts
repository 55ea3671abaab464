import type { MessageKind } from '../kind.ts'
import { deviceAlert } from './device-alert.ts'

/** A rule that was broken is met again, to somebody who got its device-alert. */
export const deviceRecovered: MessageKind = {
  ...deviceAlert,
  name: 'device-recovered',
  sample: { params: { ...deviceAlert.sample.params, current: '-18.2', time: '2026-11-20 14:41:30 UTC' } },
}

export const deviceRecoveredSms: MessageKind = { ...deviceRecovered, channel: 'sms' }
