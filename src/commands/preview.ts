import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Config, loadConfig } from '../config/config.ts'
import { languageOfTerminal } from '../language/choose.ts'
import { say } from '../language/sentence.ts'
import type { OutgoingSms } from '../messages/message.ts'
import type { Provider } from '../providers/provider.ts'
import type { SmsTemplates } from '../providers/sms-templates.ts'
import { listSampleSms, type Opened, withProviders } from '../service/sample-sms.ts'
import { writePreviews } from '../words/preview.ts'
import { checkTemplates } from './check/settings.ts'
import { formatAsText } from './check.ts'
import { type Command, readArguments, UsageError, writeLine } from './command.ts'

export const preview: Command = async (argv, io) => {
  const { values } = readArguments(argv, {
    out: { type: 'string' },
    locale: { type: 'string', multiple: true },
  })
  const { out, locale } = values
  if (out === undefined) throw new UsageError(say('{option} needs its value behind it', { option: '--out' }))
  const config = loadConfig(io)
  // What is longer than allowed is to be seen here, not refused.
  const unlimited = { ...config, SMS_MAX_SEGMENTS: Number.POSITIVE_INFINITY }
  return await withProviders(unlimited, async opened => {
    const { renderer } = opened
    const unknown = (locale ?? []).filter(tag => !renderer.locales.includes(tag))
    if (unknown.length > 0)
      throw new UsageError(
        say('there is no {unknown}: there are {known}', {
          unknown: unknown.join(', '),
          known: renderer.locales.join(', '),
        }),
      )
    await writePreviews(renderer, out, locale)
    writeLine(io, 'stdout', say('look at {index}', { index: out }))
    if (config.SMS_TOKEN !== undefined) await writeCarriers(unlimited, opened, out)
    const results = checkTemplates(renderer, config)
    if (results.some(({ is }) => is !== 'ok'))
      io.stdout.write(formatAsText(results, languageOfTerminal(io.env)))
    return results.some(({ is }) => is === 'fail') ? 1 : 0
  })
}

/** Writes the SMS of each kind as each carrier would send it, in China and abroad. */
async function writeCarriers(config: Config, opened: Opened, out: string): Promise<void> {
  const lines = (['CN', 'US'] as const).flatMap(country =>
    listSampleSms(config, opened, country).flatMap(({ sample, outgoing, carriers }) =>
      carriers.map(provider => {
        const said = whatIsSent(provider, outgoing, opened.templates)
        return `${country === 'CN' ? 'CN' : 'abroad'}  ${sample.name}  ${provider.name}  ${said}`
      }),
    ),
  )
  await writeFile(join(out, 'sms-carriers.txt'), `${lines.join('\n')}\n`)
}

function whatIsSent(provider: Provider, outgoing: OutgoingSms, templates: SmsTemplates): string {
  const why = provider.fits?.(outgoing) ?? null
  if (why !== null) return `NOT SENT: ${String(why)}`
  const request = provider.requestOf?.(outgoing) ?? null
  if (request !== null) return `request ${request}`
  const use = templates.templateFor(provider.name, outgoing)
  if ('why' in use) return `text ${JSON.stringify(outgoing.text())}`
  const signature = use.signature === undefined ? '' : ` signature ${use.signature}`
  return `template ${use.template}${signature} ${JSON.stringify(use.params)}`
}
