import type { Group, Setting, Settings, Values } from '../settings/setting.ts'
import { alerts } from './settings/alerts.ts'
import { callbacks } from './settings/callbacks.ts'
import { events } from './settings/events.ts'
import { listeners } from './settings/listeners.ts'
import { mail } from './settings/mail.ts'
import { outgoing } from './settings/outgoing.ts'
import { quotas } from './settings/quotas.ts'
import { sms } from './settings/sms.ts'
import { store } from './settings/store.ts'
import { words } from './settings/words.ts'

/** Every group, in the order of .env.example. */
export const groups: readonly Group<Settings>[] = [
  callbacks,
  listeners,
  store,
  mail,
  sms,
  outgoing,
  words,
  quotas,
  alerts,
  events,
]

/** Every setting by its name. A setting is written down once, in its group's file; all else follows from there. */
export const settings = {
  ...callbacks.settings,
  ...listeners.settings,
  ...store.settings,
  ...mail.settings,
  ...sms.settings,
  ...outgoing.settings,
  ...words.settings,
  ...quotas.settings,
  ...alerts.settings,
  ...events.settings,
} as const

export type SettingName = keyof typeof settings
export type SettingValues = Values<typeof settings>

export const settingNames = Object.keys(settings) as readonly SettingName[]

export function settingOf(name: string): Setting<unknown> | null {
  return Object.hasOwn(settings, name) ? settings[name as SettingName] : null
}
