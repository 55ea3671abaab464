import type { MessageKind } from '../kind.ts'
import { deviceOffline } from './device-offline.ts'

/** A device that somebody was told to be offline is back. */
export const deviceOnline: MessageKind = { ...deviceOffline, name: 'device-online' }

/** The same by SMS. */
export const deviceOnlineSms: MessageKind = { ...deviceOnline, channel: 'sms' }
