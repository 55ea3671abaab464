import type { Both, Setting, Values } from '../settings/setting.ts'
import { callbacks, listeners, quotas, store } from './settings/callers.ts'
import { mail, outgoing, sms, words } from './settings/messages.ts'
import { alerts, events } from './settings/optional.ts'

/** Every group, in the order of .env.example. */
export const groups = [
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
] as const

/** Every setting by its name. A setting is written down once, in its group's file; all else follows from there. */
export const settings = Object.assign({}, ...groups.map(group => group.settings)) as Both<
  (typeof groups)[number]['settings']
>

export type SettingName = keyof typeof settings
export type SettingValues = Values<typeof settings>

export const settingNames = Object.keys(settings) as readonly SettingName[]

export function settingOf(name: string): Setting<unknown> | null {
  return Object.hasOwn(settings, name) ? settings[name as SettingName] : null
}
