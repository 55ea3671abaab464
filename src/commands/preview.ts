import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { type Config, loadConfig } from '../config/config.ts'
import { languageOfTerminal } from '../language/choose.ts'
import { say } from '../language/sentence.ts'
import type { OutgoingSms } from '../messages/message.ts'
import { sampleMessage, samples } from '../messages/samples.ts'
import { openProviders } from '../providers/list.ts'
import type { Provider } from '../providers/provider.ts'
import type { SmsTemplates } from '../providers/sms-templates.ts'
import { type Clock, createClock } from '../runtime/clock.ts'
import { openRenderer, openSmsTemplates } from '../service/factories.ts'
import { routeOf } from '../settings/senders.ts'
import { writePreviews } from '../words/preview.ts'
import type { Renderer } from '../words/render.ts'
import { checkTemplates } from './check/settings.ts'
import { formatAsText } from './check.ts'
import { type Command, readArguments, UsageError, writeLine } from './command.ts'

export const preview: Command = async (argv, io) => {
  const { values } = readArguments(argv, {
    out: { type: 'string' },
    locale: { type: 'string', multiple: true },
  })
  const { out, locale } = values
  if (out === undefined)
    throw new UsageError(say('{option} needs its value behind it', { option: '--out' }), 'out')
  const config = loadConfig(io)
  // What is longer than allowed is to be seen here, not refused.
  const unlimited = { ...config, SMS_MAX_SEGMENTS: Number.POSITIVE_INFINITY }
  const renderer = openRenderer(unlimited, pino({ level: 'silent' }))
  try {
    const unknown = (locale ?? []).filter(tag => !renderer.locales.includes(tag))
    if (unknown.length > 0)
      throw new UsageError(
        say('there is no {unknown}: there are {known}', {
          unknown: unknown.join(', '),
          known: renderer.locales.join(', '),
        }),
        'locale',
      )
    await writePreviews(renderer, out, locale)
    writeLine(io, 'stdout', say('look at {index}', { index: out }))
    if (config.SMS_TOKEN !== undefined) await writeCarriers(config, renderer, out)
    const results = checkTemplates(config, renderer)
    if (results.some(({ is }) => is !== 'ok'))
      io.stdout.write(formatAsText(results, languageOfTerminal(io.env)))
    return results.some(({ is }) => is === 'fail') ? 1 : 0
  } finally {
    renderer.close()
  }
}

/** Writes what each SMS carrier would send. @throws ConfigError when the templates cannot be used */
async function writeCarriers(config: Config, renderer: Renderer, out: string): Promise<void> {
  const templates = await openSmsTemplates(config, pino({ level: 'silent' }))
  try {
    const text = await describeCarriers(config, renderer, templates, createClock())
    await writeFile(join(out, 'sms-carriers.txt'), text)
  } finally {
    templates.close()
  }
}

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
        const { SMS_ROUTES: routes } = config
        const named = routes && (routeOf(routes, outgoing.country) ?? [])
        const inOrder = named?.flatMap(name => providers.filter(each => each.name === name)) ?? providers
        return inOrder.map(provider => {
          const said = whatIsSent(provider, outgoing, templates)
          return `${where}  ${sample.name}  ${provider.name}  ${said}`
        })
      }),
  )
  await Promise.all(providers.map(provider => provider.close()))
  return `${lines.join('\n')}\n`
}

function whatIsSent(provider: Provider, outgoing: OutgoingSms, templates: SmsTemplates): string {
  const why = provider.fits?.(outgoing) ?? null
  if (why !== null) return `NOT SENT: ${why}`
  const request = provider.requestOf?.(outgoing) ?? null
  if (request !== null) return `request ${request}`
  const use = templates.templateFor(provider.name, outgoing)
  if ('why' in use) return `text ${JSON.stringify(outgoing.text())}`
  const signature = use.signature === undefined ? '' : ` signature ${use.signature}`
  return `template ${use.template}${signature} ${JSON.stringify(use.params)}`
}
