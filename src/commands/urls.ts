import { loadConfig } from '../config/config.ts'
import { languageOfTerminal } from '../language/choose.ts'
import { type ReaderLanguage, say } from '../language/sentence.ts'
import type { CallbackUrl, ReportUrl } from '../service/callback-urls.ts'
import { bounceUrl, callbackUrls, reportUrls } from '../service/callback-urls.ts'
import { readPublicUrl } from '../settings/urls.ts'
import { type Command, failWith, readArguments, UsageError } from './command.ts'
import { fingerprint } from './token.ts'

export const urls: Command = async (argv, io) => {
  const { values } = readArguments(argv, { base: { type: 'string' }, json: { type: 'boolean' } })
  const named = values.base === undefined ? { value: undefined } : readPublicUrl(values.base)
  if ('fault' in named)
    throw new UsageError(say('--base must be an https address such as https://courier.example.com'))
  const config = loadConfig(io)
  const base = named.value ?? config.PUBLIC_URL
  if (base === undefined)
    return failWith(
      io,
      say(
        'PUBLIC_URL is missing: set it to the https address of this service as the platform reaches it, or say --base https://…',
      ),
    )
  const entries = callbackUrls(config, base)
  const reports = await reportUrls(config, base)
  const bounces = bounceUrl(config, base)
  const language = languageOfTerminal(io.env)
  io.stdout.write(
    values.json === true
      ? asJson(entries, reports, bounces)
      : asText(entries, reports, language) + (bounces === null ? '' : bounceText(bounces, language)),
  )
  return 0
}

function asJson(
  entries: readonly CallbackUrl[],
  reports: readonly ReportUrl[],
  bounces: string | null,
): string {
  const shown = entries.map(({ channel, url, setting }) => ({ channel, url, tokenSetting: setting }))
  return `${JSON.stringify([...shown, ...reports, ...(bounces === null ? [] : [{ bounces }])], null, 2)}\n`
}

/** Postfix keeps the mail and tries again when the command ends with 75 (EX_TEMPFAIL). */
function bounceText(url: string, language: ReaderLanguage): string {
  const title = say(
    'Mails that came back: let your mail server hand them over; docs/bounces.md says how, and about BOUNCE_IMAP_URL',
  )
  return `
${title.in(language)}
  URL      ${url}
  Postfix  ${say('in /etc/aliases, for the address of MAIL_BOUNCE_TO:').in(language)}
           bounces: "|curl -sf -m 30 --data-binary @- ${url} || exit 75"
`
}

function asText(
  entries: readonly CallbackUrl[],
  reports: readonly ReportUrl[],
  language: ReaderLanguage,
): string {
  const parts = entries.map(({ channel, url, setting, token }) => {
    const title = say(channel === 'email' ? 'E-mail' : 'SMS').in(language)
    const value = say('the value of {setting} ({fingerprint})', { setting, fingerprint: fingerprint(token) })
    return `${title}\n  URL    ${url}\n  Token  ${value.in(language)}\n`
  })
  const next = say('Paste both into the platform’s console, press “validate”, then save.')
  const carriers = reports.map(({ carrier, url }) => {
    const what = say('Delivery reports of {carrier}: enter this URL in its console', { carrier })
    return `\n${what.in(language)}\n  URL    ${url}\n`
  })
  return `${parts.join('\n')}\n${next.in(language)}\n${carriers.join('')}`
}
