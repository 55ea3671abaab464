import type { Words } from '../language/sentence.ts'
import type { Channel } from '../messages/message.ts'
import { type CheckResult, checksOf } from '../runtime/check-result.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Mailbox } from '../settings/readers.ts'
import type { SmsRoutes } from '../settings/senders.ts'
import type { SettingFault, Settings, Values } from '../settings/setting.ts'
import { adviceOn } from './diagnosis.ts'
import type { HttpProxy } from './http-client.ts'
import type { Provider } from './provider.ts'
import type { ReceiptSettings, ReceiptSource } from './receipts.ts'
import type { SmsTemplates } from './sms-templates.ts'

/** The settings that a provider may read beside its own. */
export interface ChannelSettings extends ReceiptSettings {
  readonly EMAIL_TOKEN: string | undefined
  readonly SMS_ROUTES: SmsRoutes | undefined
  readonly MAIL_FROM: Mailbox | undefined
  readonly MAIL_BOUNCE_TO: string | undefined
  readonly DKIM_NAME: { readonly selector: string; readonly domain: string } | undefined
  readonly DKIM_KEY_FILE: string | undefined
  readonly HTTPS_PROXY: string | undefined
  readonly NO_PROXY: string | undefined
}

/**
 * All that the service, the settings and the commands have to know of a provider. It is loaded with the settings, by
 * every command; what sends is loaded when it is opened.
 *
 * @typeParam S its own settings.
 * @typeParam L its time limits, ms.
 */
export interface ProviderModule<
  N extends string = string,
  C extends Channel = Channel,
  S extends Settings = Settings,
  L extends object = object,
> {
  /** The name of its file or folder, and the one in logs, metrics and the console. */
  readonly name: N
  readonly channel: C
  /** Mail's stand at the head of its group, those of SMS in one of their own. */
  readonly settings: S
  /** It is there when SMS_ROUTES names it: all settings that it needs are another one's. */
  readonly isByRoute?: true
  /** The limits that no setting changes. */
  readonly limits: L
  /** The faults of its settings taken together, once the channel is on. A setting that is wrong by itself is undefined here. */
  findFaults(settings: Partial<Values<S>>): Iterable<SettingFault>
  /** The longest that an attempt may take, ms: a lease must outlive it. */
  longestAttemptMs(config: Values<S>, limits: L): number
  /** @returns none when its channel is off or it is not configured; else in the order in which they are asked */
  open(
    config: Values<S> & ChannelSettings,
    options: { readonly clock: Clock; readonly limits: L; readonly templates: SmsTemplates },
  ): Promise<readonly Provider[]>
  /** Why it can send nothing at all with these templates; null: it can. Absent: it needs none. */
  findTemplateFault?(config: Values<S>, templates: SmsTemplates): SettingFault | null
  /** Its lines of `callback-courier check` on one that it has opened; sends nothing. */
  check(
    config: Values<S> & ChannelSettings,
    provider: Provider,
    templates: SmsTemplates,
  ): Promise<readonly CheckResult[]>
  /** Says how its delivery reports are read; undefined when the settings allow none. */
  openReceipts?(config: Values<S> & ChannelSettings): Promise<ReceiptSource | undefined>
}

/** Providers of one kind, of which the operator describes any number, each by a name of its own. */
export interface ProviderFamily<
  N extends string = string,
  C extends Channel = Channel,
  S extends Settings = Settings,
> extends Pick<ProviderModule<N, C, S>, 'name' | 'channel' | 'settings' | 'isByRoute' | 'findFaults'> {
  /** @returns those that the settings describe */
  members(settings: Partial<Values<S>>): readonly ProviderModule<string, C, S>[]
}

/** The proxy that requests to carriers go through; undefined: none. */
export function proxyOf({ HTTPS_PROXY: url, NO_PROXY: except }: ChannelSettings): HttpProxy | undefined {
  return url === undefined ? undefined : { url, except }
}

/** Logs in at a provider, without sending anything. @param next what to look at when that fails for a reason that the provider has no advice for. */
export async function checkLogin(provider: Provider, next: Words): Promise<CheckResult> {
  const { ok: works, detail, next: remedy } = await provider.verify()
  if (works) return checksOf(provider.name).ok(detail)
  return checksOf(provider.name).fail(detail, remedy ?? adviceOn({ reply: detail }) ?? next)
}
