import { loadConfig } from '../config/config.ts'
import { languageOfTerminal } from '../language/choose.ts'
import { say } from '../language/sentence.ts'
import { bounceUrl, callbackUrls, reportUrls } from '../service/callback-urls.ts'
import { readPublicUrl } from '../settings/urls.ts'
import { type Command, failWith, readArguments, UsageError, writeLine } from './command.ts'
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
  if (values.json === true) {
    const shown = entries.map(({ channel, url, setting }) => ({ channel, url, tokenSetting: setting }))
    const all = [...shown, ...reports, ...(bounces === null ? [] : [{ bounces }])]
    io.stdout.write(`${JSON.stringify(all, null, 2)}\n`)
    return 0
  }
  const language = languageOfTerminal(io.env)
  for (const { channel, url, setting, token } of entries) {
    const value = say('the value of {setting} ({fingerprint})', { setting, fingerprint: fingerprint(token) })
    writeLine(io, 'stdout', say(channel === 'email' ? 'E-mail' : 'SMS'))
    io.stdout.write(`  URL    ${url}\n  Token  ${value.in(language)}\n\n`)
  }
  writeLine(io, 'stdout', say('Paste both into the platform’s console, press “validate”, then save.'))
  for (const { carrier, url } of reports) {
    const what = say('Delivery reports of {carrier}: enter this URL in its console', { carrier })
    io.stdout.write(`\n${what.in(language)}\n  URL    ${url}\n`)
  }
  if (bounces !== null) {
    const title = say(
      'Mails that came back: let your mail server hand them over; docs/bounces.md says how, and about BOUNCE_IMAP_URL',
    )
    const place = say('in /etc/aliases, for the address of MAIL_BOUNCE_TO:')
    io.stdout.write(`\n${title.in(language)}\n  URL      ${bounces}\n  Postfix  ${place.in(language)}\n`)
    // Postfix keeps the mail and tries again when the command ends with 75 (EX_TEMPFAIL).
    io.stdout.write(`           bounces: "|curl -sf -m 30 --data-binary @- ${bounces} || exit 75"\n`)
  }
  return 0
}
