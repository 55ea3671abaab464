import type { Both, Setting, Values } from '../settings/setting.ts'
import { callers, listeners, platform, probe, quotas, store } from './settings/callers.ts'
import { bounces, carriers, mail, outgoing, sms, words } from './settings/messages.ts'
import { alerts, events } from './settings/optional.ts'

/** Every group, in the order of docs/settings.md. */
export const groups = [
  platform,
  listeners,
  mail,
  sms,
  carriers,
  words,
  callers,
  quotas,
  store,
  bounces,
  outgoing,
  probe,
  alerts,
  events,
] as const

/** Every setting by its name. A setting is written down once, in its group's file; all else follows from there. */
export const allSettings = Object.assign({}, ...groups.map(group => group.settings)) as Both<
  (typeof groups)[number]['settings']
>

export type SettingName = keyof typeof allSettings
export type SettingValues = Values<typeof allSettings>

export const settingNames = Object.keys(allSettings) as readonly SettingName[]

export function settingOf(name: string): Setting<unknown> | null {
  return Object.hasOwn(allSettings, name) ? allSettings[name as SettingName] : null
}
