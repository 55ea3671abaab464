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
  /** Parameters that its words mention when they are there. The validity is one wherever the contract lists it. */
  readonly optional: readonly string[]
  /** The parameter that is the link behind the button. */
  readonly linkParam?: string
  /** A message of this kind: for the sandbox, the command `preview` and tests. A mail without a subject has its heading for one. */
  readonly sample: { readonly subject?: string; readonly params: Readonly<Record<string, string>> }
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
  {
    name: 'registration-activation',
    channel: 'email',
    type: 1,
    purpose: 'link',
    required: ['url'],
    optional: ['hour'],
    linkParam: 'url',
    sample: {
      subject: 'Activate your account',
      params: {
        url: 'https://console.example.com/#!activate/c2FtcGxlLWNvZGU=?lang=en&from=mail',
        hour: '24',
      },
    },
  },
  // E-mail type 2: the link that lets a user choose a new password.
  {
    name: 'password-reset',
    channel: 'email',
    type: 2,
    purpose: 'link',
    required: ['url'],
    optional: ['hour'],
    linkParam: 'url',
    sample: {
      subject: 'Reset your password',
      params: { url: 'https://console.example.com/reset?token=Zm9vYmFyLTEyMzQ1Njc4&step=2', hour: '2' },
    },
  },
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
  {
    name: 'file',
    channel: 'email',
    type: 7,
    purpose: 'file',
    required: ['download_url'],
    optional: [],
    linkParam: 'download_url',
    sample: {
      subject: 'Your export is ready',
      params: { download_url: 'https://files.example.com/exports/devices-2026-11.xlsx?expires=1795219200' },
    },
  },
  // E-mail type 8: a device of the enterprise raised an alarm.
  {
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
  },
  // E-mail type 9: the link that lets a member of the enterprise recover the password.
  {
    name: 'member-password-recovery',
    channel: 'email',
    type: 9,
    purpose: 'link',
    required: ['url'],
    optional: ['username', 'email', 'verifycode', 'time', 'hour'],
    linkParam: 'url',
    sample: {
      subject: 'Recover your member password',
      params: {
        url: 'https://console.example.com/#!recover/aGVsbG8rd29ybGQ=',
        username: 'Lin Wei',
        email: 'lin.wei@example.com',
        verifycode: 'MTIzNDU2Nzg5MA==',
        time: '2026-11-20 14:32:05',
        hour: '24',
      },
    },
  },
  // SMS type 1: the code that confirms a registration.
  codeKind('sms', 1, 'registration-code', { code: '604817', minute: '10' }),
  // SMS type 2: the code of somebody who forgot the password.
  codeKind('sms', 2, 'forgotten-password', { code: '275930', minute: '10' }),
  // SMS type 3: the code that confirms a new phone number.
  codeKind('sms', 3, 'phone-update', { code: '918264', minute: '5' }),
  // SMS type 4: the code to sign in with.
  codeKind('sms', 4, 'login-code', { code: '351706', minute: '5' }),
]

/** A kind that says a code, and how long it is good for. */
function codeKind(
  channel: Channel,
  type: number,
  name: string,
  params: Readonly<Record<string, string>>,
  subject?: string,
): CallbackKind {
  const optional = [VALIDITY_UNIT[channel]]
  return { name, channel, type, purpose: 'code', required: ['code'], optional, sample: { subject, params } }
}

/** A rule of the platform's is broken by a device. */
const deviceAlert: MessageKind = {
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

/** A device lost its connection to the platform. */
const deviceOffline: MessageKind = {
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
  {
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
  },
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
const DEFAULT_MS: Readonly<Record<Purpose, number>> = {
  code: 10 * UNIT_MS.minute,
  link: 24 * UNIT_MS.hour,
  file: 24 * UNIT_MS.hour,
  alarm: 24 * UNIT_MS.hour,
  plain: 24 * UNIT_MS.hour,
}

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
  return DEFAULT_MS[purpose === 'plain' && carriesCode ? 'code' : purpose]
}
