import type { MessageKind } from '../kind.ts'
import { deviceOffline } from './device-offline.ts'

/** A device is back, to somebody who got its device-offline. */
export const deviceOnline: MessageKind = { ...deviceOffline, name: 'device-online' }

export const deviceOnlineSms: MessageKind = { ...deviceOnline, channel: 'sms' }
