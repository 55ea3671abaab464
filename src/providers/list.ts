import type { Channel } from '../messages/message.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Both, Settings, Values } from '../settings/setting.ts'
import { aliyun } from './aliyun.ts'
import { aliyunPnvs } from './aliyun-pnvs.ts'
import { httpGateway } from './http-gateway/gateway.ts'
import type { ChannelSettings, ProviderFamily, ProviderModule } from './module.ts'
import type { Provider } from './provider.ts'
import type { SmsTemplates } from './sms-templates.ts'
import { smtp } from './smtp/module.ts'
import { tencent } from './tencent.ts'
import { twilio } from './twilio.ts'

/** Every provider there is. A new one is a file beside this one, and its name here. */
const modules = [smtp, twilio, aliyun, aliyunPnvs, tencent, httpGateway] as const

type Module = (typeof modules)[number]

/** The modules with the types that all of them share. */
export const providerModules: readonly (ProviderModule | ProviderFamily)[] = modules

/** The modules of all providers; of a family those of its members, as the settings describe them. */
export function modulesOf(settings: Partial<ProviderConfig>): readonly ProviderModule[] {
  return providerModules.flatMap(module => ('members' in module ? module.members(settings) : [module]))
}

type ChannelProviderSettings = { readonly [C in Channel]: Both<Extract<Module, { channel: C }>['settings']> }

export type ProviderConfig = Values<Both<Module['settings']> & Settings> & ChannelSettings

/** Time limits that take the place of the usual ones, by the provider's name. */
export type ProviderLimits = {
  readonly [M in Extract<Module, ProviderModule> as M['name']]?: Partial<M['limits']>
}

/** The settings of a channel's providers in the order of the list, each with its type. */
export function providerSettings<C extends Channel>(channel: C): ChannelProviderSettings[C] {
  const groups = modules.filter(module => module.channel === channel).map(({ settings }) => settings)
  return Object.assign({}, ...groups) as ChannelProviderSettings[C]
}

/** Opens the providers that are configured, of the channels that are on. */
export async function openProviders(
  config: ProviderConfig,
  {
    clock,
    templates,
    limits = {},
  }: {
    readonly clock: Clock
    readonly templates: SmsTemplates
    readonly limits?: ProviderLimits | undefined
  },
): Promise<readonly Provider[]> {
  const opened = modulesOf(config).map(module =>
    module.open(config, { clock, templates, limits: limitsOf(module, limits) }),
  )
  return (await Promise.all(opened)).flat()
}

/** The longest that an attempt may take, ms: of an SMS with all the carriers of its route, one after the other. */
export function longestAttemptMs(config: ProviderConfig, limits: ProviderLimits = {}): number {
  const longest = new Map(
    modulesOf(config).map(module => [module.name, module.longestAttemptMs(config, limitsOf(module, limits))]),
  )
  const routes = [...(config.SMS_ROUTES?.values() ?? [])]
  const ofRoutes = routes.map(names => names.reduce((sum, name) => sum + (longest.get(name) ?? 0), 0))
  return Math.max(...longest.values(), ...ofRoutes)
}

function limitsOf({ name, limits }: ProviderModule, other: ProviderLimits): object {
  return { ...limits, ...other[name as keyof ProviderLimits] }
}
