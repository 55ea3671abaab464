import { pino } from 'pino'
import { countryOfAreaCode } from '../callback/recipients.ts'
import type { Config } from '../config/config.ts'
import { findMisfit } from '../delivery/carrier.ts'
import { quote, type Sentence, say, withRemedy } from '../language/sentence.ts'
import { sampleMessage, samples } from '../messages/samples.ts'
import { openProviders } from '../providers/list.ts'
import type { Provider } from '../providers/provider.ts'
import type { SmsTemplates } from '../providers/sms-templates.ts'
import { createClock } from '../runtime/clock.ts'
import { routeOf } from '../settings/senders.ts'
import type { Renderer } from '../words/render.ts'
import { openRenderer, openSmsTemplates } from './factories.ts'

/** What turns a message into what a carrier sends. */
interface Rendering {
  readonly renderer: Pick<Renderer, 'render'>
  readonly providers: readonly Provider[]
}

/** The same with all that is open. */
export interface Opened extends Rendering {
  readonly renderer: Renderer
  readonly templates: SmsTemplates
}

/** Opens words, templates and providers for as long as they are looked at; nothing is connected to. @throws ConfigError */
export async function withProviders<T>(config: Config, use: (opened: Opened) => T | Promise<T>): Promise<T> {
  const silent = pino({ level: 'silent' })
  const templates = await openSmsTemplates(config, silent)
  const renderer = openRenderer(config, silent)
  const providers = await openProviders(config, { clock: createClock(), templates })
  try {
    return await use({ renderer, providers, templates })
  } finally {
    templates.close()
    renderer.close()
    await Promise.all(providers.map(each => each.close()))
  }
}

/**
 * Each kind of SMS as it would go out, with the carriers of its route in the order in which they are asked.
 * @param country to which it would go; `*`: one that no route names.
 */
export function listSampleSms(config: Config, { renderer, providers }: Rendering, country: string) {
  const all = providers.filter(({ channel }) => channel === 'sms')
  const named = config.SMS_ROUTES && (routeOf(config.SMS_ROUTES, country) ?? [])
  const carriers = named?.flatMap(name => all.filter(each => each.name === name)) ?? all
  // Numbers that are in every example, or that nobody has (ITU-T E.164 tests in +1 555 01xx).
  const recipient = country === 'CN' ? '+8613800138000' : '+12025550123'
  return samples.flatMap(sample => {
    if (sample.channel !== 'sms') return []
    const { content } = sample
    const outgoing = renderer.render({ ...sampleMessage(sample, config.LOCALE), content, recipient }, country)
    return outgoing.channel === 'sms' ? [{ sample, outgoing, carriers }] : []
  })
}

/**
 * Names the kinds of codes that no carrier of their route can send, by country: such an SMS would wait until it expires.
 * @param only looks at this kind alone.
 */
export function findUnsendable(config: Config, opened: Rendering, only?: string): readonly Sentence[] {
  const { DEFAULT_AREA_CODE: area = '', SMS_ROUTES: routes, SMS_COUNTRIES: listed } = config
  const allowed = listed ?? [countryOfAreaCode(area) ?? []].flat()
  const countries = allowed === '*' ? new Set(['CN', ...(routes?.keys() ?? []), '*']) : allowed
  return [...countries].flatMap(country => {
    const lost = listSampleSms(config, opened, country).flatMap(({ sample, outgoing, carriers }) => {
      const isAsked = sample.kind?.purpose === 'code' && (only ?? sample.name) === sample.name
      const misfits = isAsked ? carriers.map(each => findMisfit(each, outgoing)) : []
      const [first] = misfits
      if (first == null || misfits.includes(null)) return []
      return [{ kind: sample.name, why: withRemedy(quote(carriers[0]?.name ?? ''), first.reply) }]
    })
    const kinds = lost.map(({ kind }) => kind).join(', ')
    const why = lost[0]?.why
    return why === undefined
      ? []
      : [say('no carrier can send {kinds} to {country}: {why}', { kinds, country, why })]
  })
}
