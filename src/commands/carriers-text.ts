import type { Config } from '../config/config.ts'
import type { OutgoingSms } from '../messages/message.ts'
import { sampleMessage, samples } from '../messages/samples.ts'
import { openProviders } from '../providers/list.ts'
import type { Provider } from '../providers/provider.ts'
import type { SmsTemplates } from '../providers/sms-templates.ts'
import type { Clock } from '../runtime/clock.ts'
import { routeOf } from '../settings/routes.ts'
import type { Renderer } from '../words/render.ts'

/** Numbers that nobody has (ITU-T E.164 tests in +1 555 01xx), or that are in every example. */
const NUMBERS = { CN: '+8613800138000', abroad: '+12025550123' } as const

/** The SMS of each kind as each carrier would send it, in China and abroad: a template with its values, or the text. */
export async function describeCarriers(
  config: Config,
  renderer: Renderer,
  templates: SmsTemplates,
  clock: Clock,
): Promise<string> {
  const providers = (await openProviders(config, { clock, templates })).filter(each => each.channel === 'sms')
  const lines = (Object.keys(NUMBERS) as (keyof typeof NUMBERS)[]).flatMap(where =>
    samples
      .filter(({ channel }) => channel === 'sms')
      .flatMap(sample => {
        const { content } = sample
        const message = { ...sampleMessage(sample, config.LOCALE), content, recipient: NUMBERS[where] }
        const outgoing = renderer.render(message)
        if (outgoing.channel !== 'sms') return []
        const inOrder = carriersOf(config, providers, outgoing.country)
        return inOrder.map(provider => {
          const said = whatIsSent(provider, outgoing, templates)
          return `${where}  ${sample.name}  ${provider.name}  ${said}`
        })
      }),
  )
  await Promise.all(providers.map(provider => provider.close()))
  return `${lines.join('\n')}\n`
}

function carriersOf(
  { SMS_ROUTES: routes }: Config,
  providers: readonly Provider[],
  country: string,
): readonly Provider[] {
  if (routes === undefined) return providers
  return (routeOf(routes, country) ?? []).flatMap(name => providers.filter(each => each.name === name))
}

function whatIsSent(provider: Provider, outgoing: OutgoingSms, templates: SmsTemplates): string {
  const why = provider.fits?.(outgoing) ?? null
  if (why !== null) return `NOT SENT: ${why}`
  const use = templates.templateFor(provider.name, outgoing)
  if ('why' in use) return `text ${JSON.stringify(outgoing.text())}`
  const signature = use.signature === undefined ? '' : ` signature ${use.signature}`
  return `template ${use.template}${signature} ${JSON.stringify(use.params)}`
}
