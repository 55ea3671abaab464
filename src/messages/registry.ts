import type { CallbackKind, MessageKind } from './kind.ts'
import { activationCode } from './kinds/activation-code.ts'
import { deviceAlert, deviceAlertSms } from './kinds/device-alert.ts'
import { deviceEvent, deviceEventSms } from './kinds/device-event.ts'
import { deviceOffline, deviceOfflineSms } from './kinds/device-offline.ts'
import { deviceOnline, deviceOnlineSms } from './kinds/device-online.ts'
import { deviceRecovered, deviceRecoveredSms } from './kinds/device-recovered.ts'
import { file } from './kinds/file.ts'
import { forgottenPassword } from './kinds/forgotten-password.ts'
import { loginCode } from './kinds/login-code.ts'
import { memberAlarm } from './kinds/member-alarm.ts'
import { memberPasswordRecovery } from './kinds/member-password-recovery.ts'
import { passwordReset } from './kinds/password-reset.ts'
import { phoneChange } from './kinds/phone-change.ts'
import { phoneUpdate } from './kinds/phone-update.ts'
import { recoveryCode } from './kinds/recovery-code.ts'
import { registrationActivation } from './kinds/registration-activation.ts'
import { registrationCode } from './kinds/registration-code.ts'
import type { Channel } from './message.ts'

/** The name under which a message of an unknown type goes: the platform's own plain text in our layout. */
export const PLAIN_KIND = 'plain'

/** Every kind that the platform calls back with, in the order of its tables. A new kind is one file and one line here. */
export const callbackKinds: readonly CallbackKind[] = [
  registrationActivation,
  passwordReset,
  phoneChange,
  activationCode,
  recoveryCode,
  file,
  memberAlarm,
  memberPasswordRecovery,
  registrationCode,
  forgottenPassword,
  phoneUpdate,
  loginCode,
]

/** The service's own notifications about watched devices (docs/alerts.md), each by mail and SMS. */
const alertKinds: readonly MessageKind[] = [
  deviceAlert,
  deviceRecovered,
  deviceOffline,
  deviceOnline,
  deviceEvent,
  deviceAlertSms,
  deviceRecoveredSms,
  deviceOfflineSms,
  deviceOnlineSms,
  deviceEventSms,
]

/** Every kind that there are words for. */
export const messageKinds: readonly MessageKind[] = [...callbackKinds, ...alertKinds]

const byType = new Map(callbackKinds.map(kind => [`${kind.channel}/${kind.type}`, kind]))
const byName = new Map(messageKinds.map(kind => [`${kind.channel}/${kind.name}`, kind]))

/** The kind behind a channel's `type`, given as text; undefined for one that this version does not know. */
export function findKindByType(channel: Channel, type: string): CallbackKind | undefined {
  return byType.get(`${channel}/${type}`)
}

/** The kind of that name; undefined for `plain` and for names of a later version. */
export function findKind(channel: Channel, name: string): MessageKind | undefined {
  return byName.get(`${channel}/${name}`)
}
