import type { Channel, Purpose } from './message.ts'

/** The unit of a message's validity in the platform's parameters; also the parameter's name. */
type ValidityUnit = 'hour' | 'minute'

export const VALIDITY_UNIT: Readonly<Record<Channel, ValidityUnit>> = { email: 'hour', sms: 'minute' }

/** A kind of message that there are words for: its purpose, and which parameters its words use. */
export interface MessageKind {
  /** Its name in code, templates, metrics and logs. */
  readonly name: string
  readonly channel: Channel
  readonly purpose: Purpose
  /** Parameters without which its words are not used. */
  readonly required: readonly string[]
  /** All parameters that its words mention when they are there. The validity is one wherever the contract lists it. */
  readonly params: readonly string[]
  /** The parameter that is the link behind the button. */
  readonly linkParam?: string | undefined
  /** A message of this kind, with all parameters: for the sandbox, the command `preview` and tests. A mail without a subject has its heading for one. */
  readonly sample: {
    readonly subject?: string | undefined
    readonly params: Readonly<Record<string, string>>
  }
}

/**
 * A kind of message that the platform sends by callback.
 * The contract's tables of types are the authority; the layouts printed beside them contradict it, so every other
 * key is ignored and nothing but `required` is insisted on.
 */
export interface CallbackKind extends MessageKind {
  /** The platform's number for it, unique within the channel. */
  readonly type: number
}

/** Every kind that the platform calls back with, in the order of its tables. */
export const callbackKinds: readonly CallbackKind[] = [
  // E-mail type 1: the link that activates a new account.
  linkKind(1, 'registration-activation', 'link', 'url', 'Activate your account', {
    url: 'https://console.example.com/#!activate/c2FtcGxlLWNvZGU=?lang=en&from=mail',
    hour: '24',
  }),
  // E-mail type 2: the link that lets a user choose a new password.
  linkKind(2, 'password-reset', 'link', 'url', 'Reset your password', {
    url: 'https://console.example.com/reset?token=Zm9vYmFyLTEyMzQ1Njc4&step=2',
    hour: '2',
  }),
  // E-mail type 3: the code that confirms a change of phone number. The contract prints the same layout for
  // the activation code, so its words must be true for that as well.
  codeKind('email', 3, 'phone-change', { code: '428913', hour: '0.5' }, 'Change your phone number'),
  // E-mail type 5: the code that activates a registration. The layout printed with this number is labelled as
  // the password recovery code, so its words must be true for that as well.
  codeKind('email', 5, 'activation-code', { code: '730254', hour: '1' }, 'Your activation code'),
  // E-mail type 6: the code that recovers a password. The contract prints its layout under another number and
  // without `code`; without one there is nothing to say but the plain text.
  codeKind('email', 6, 'recovery-code', { code: '096471', hour: '1' }, 'Recover your password'),
  // E-mail type 7: a link to a file. Nothing is ever fetched.
  linkKind(7, 'file', 'file', 'download_url', 'Your export is ready', {
    download_url: 'https://files.example.com/exports/devices-2026-11.xlsx?expires=1795219200',
  }),
  // E-mail type 8: a device of the enterprise raised an alarm.
  {
    type: 8,
    ...alarmKind('member-alarm', [], {
      subject: 'Device alarm',
      params: {
        username: 'Lin Wei',
        corporation: 'Northwind Cold Chain',
        productName: 'Freezer sensor T2',
        time: '2026-11-20 14:32:05',
        email: 'lin.wei@example.com',
      },
    }),
  },
  // E-mail type 9: the link that lets a member of the enterprise recover the password.
  linkKind(9, 'member-password-recovery', 'link', 'url', 'Recover your member password', {
    url: 'https://console.example.com/#!recover/aGVsbG8rd29ybGQ=',
    username: 'Lin Wei',
    email: 'lin.wei@example.com',
    verifycode: 'MTIzNDU2Nzg5MA==',
    time: '2026-11-20 14:32:05',
    hour: '24',
  }),
  // SMS type 1: the code that confirms a registration.
  codeKind('sms', 1, 'registration-code', { code: '604817', minute: '10' }),
  // SMS type 2: the code of somebody who forgot the password.
  codeKind('sms', 2, 'forgotten-password', { code: '275930', minute: '10' }),
  // SMS type 3: the code that confirms a new phone number.
  codeKind('sms', 3, 'phone-update', { code: '918264', minute: '5' }),
  // SMS type 4: the code to sign in with.
  codeKind('sms', 4, 'login-code', { code: '351706', minute: '5' }),
]

/** A kind of mail that gives a link, without which it says nothing. */
function linkKind(
  type: number,
  name: string,
  purpose: 'link' | 'file',
  linkParam: string,
  subject: string,
  params: Readonly<Record<string, string>>,
): CallbackKind {
  return {
    type,
    name,
    channel: 'email',
    purpose,
    required: [linkParam],
    params: Object.keys(params),
    linkParam,
    sample: { subject, params },
  }
}

/** A kind that says a code, and how long it is good for. */
function codeKind(
  channel: Channel,
  type: number,
  name: string,
  params: Readonly<Record<string, string>>,
  subject?: string,
): CallbackKind {
  return {
    type,
    name,
    channel,
    purpose: 'code',
    required: ['code'],
    params: Object.keys(params),
    sample: { subject, params },
  }
}

/** A kind of mail that says what a device has done. */
function alarmKind(name: string, required: readonly string[], sample: MessageKind['sample']): MessageKind {
  return { name, channel: 'email', purpose: 'alarm', required, params: Object.keys(sample.params), sample }
}

/** A rule of the platform's is broken by a device. */
const deviceAlert = alarmKind('device-alert', ['device'], {
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
})

/** A device lost its connection to the platform. */
const deviceOffline = alarmKind('device-offline', ['device'], {
  params: {
    device: '1144502133',
    product: '1607d2b64f8a1f41',
    project: 'ac0401',
    time: '2026-11-20 14:32:05 UTC',
  },
})

/**
 * The service's own notifications about watched devices (docs/alerts.md), each by mail and SMS. The platform never calls back with
 * one, so they have no type. `device-recovered` and `device-online` end what somebody was told by the one before.
 */
const alertKinds: readonly MessageKind[] = [
  deviceAlert,
  {
    ...deviceAlert,
    name: 'device-recovered',
    sample: { params: { ...deviceAlert.sample.params, current: '-18.2', time: '2026-11-20 14:41:30 UTC' } },
  },
  deviceOffline,
  { ...deviceOffline, name: 'device-online' },
  alarmKind('device-event', ['device'], {
    params: {
      device: '1144502133',
      event: 'door_forced',
      values: 'door: 2, battery: 71',
      product: '1607d2b64f8a1f41',
      time: '2026-11-20 14:32:05 UTC',
    },
  }),
]

/** Every kind that there are words for. */
export const messageKinds: readonly MessageKind[] = [
  ...callbackKinds,
  ...alertKinds,
  ...alertKinds.map(kind => ({ ...kind, channel: 'sms' as const })),
]

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

/** The name under which a message of an unknown type goes: the platform's own plain text in our layout. */
export const PLAIN_KIND = 'plain'

export const UNIT_MS: Readonly<Record<ValidityUnit, number>> = { hour: 3_600_000, minute: 60_000 }
const MAX_MS = 30 * 24 * UNIT_MS.hour
/** No shorter one can be kept: Twilio counts a validity in whole seconds from 1 on. */
const MIN_MS = 1000

/**
 * The validity that the platform stated, in ms: a decimal number of hours or minutes.
 * It is null when the parameter is absent, not a number, 0 (anything below a second), negative or over 30 days: then nobody knows, and
 * the words do not mention it.
 */
export function parseValidity(unit: ValidityUnit, text: string | undefined): number | null {
  if (text === undefined || !/^\d{1,9}(\.\d{1,9})?$/.test(text)) return null
  const ms = Math.round(Number(text) * UNIT_MS[unit])
  return ms >= MIN_MS && ms <= MAX_MS ? ms : null
}

/**
 * Says how long a message may be tried when the platform did not say: 24 hours for links, files and alarms, 10 minutes
 * for codes. An unknown type that carries a `code` is taken for one: a code that comes hours late only confuses.
 */
export function defaultValidity(purpose: Purpose, carriesCode: boolean): number {
  const isCode = purpose === 'code' || (purpose === 'plain' && carriesCode)
  return isCode ? 10 * UNIT_MS.minute : 24 * UNIT_MS.hour
}
