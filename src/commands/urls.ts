import { loadConfig } from '../config/config.ts'
import {
  bounceUrl,
  type CallbackUrl,
  callbackUrls,
  type ReportUrl,
  reportUrls,
} from '../service/callback-urls.ts'
import { type Command, readArguments } from './command.ts'
import { fingerprint } from './token.ts'

export const urls: Command = {
  usage: `callback-courier urls [--base URL] [--json]

  Prints, for each channel that is on, the URL and which Token to paste into the platform's console. The URL holds a
  key: whoever knows it can send in your name, so treat it as a password. For each SMS carrier that does not sign its
  delivery reports, also the URL to enter in that carrier's console; and, while e-mail is on, the one that takes mails
  which came back, with the line for Postfix.

  --base URL  this service as the platform reaches it, instead of PUBLIC_URL
  --json      as JSON
`,
  async run(argv, io) {
    const { values } = readArguments(argv, { base: { type: 'string' }, json: { type: 'boolean' } })
    const config = loadConfig(io)
    const base = values.base ?? config.PUBLIC_URL
    if (base === undefined) {
      io.stderr.write(
        'PUBLIC_URL is missing: set it to the https address of this service as the platform reaches it, or say --base https://…\n',
      )
      return 1
    }
    const entries = callbackUrls(config, base)
    const reports = await reportUrls(config, base)
    const bounces = bounceUrl(config, base)
    io.stdout.write(
      values.json === true
        ? asJson(entries, reports, bounces)
        : asText(entries, reports) + (bounces === null ? '' : bounceText(bounces)),
    )
    return 0
  },
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
function bounceText(url: string): string {
  return `
Mails that came back: let your mail server hand them over; docs/bounces.md says how, and about BOUNCE_IMAP_URL
  URL      ${url}
  Postfix  in /etc/aliases, for the address of MAIL_BOUNCE_TO:
           bounces: "|curl -sf -m 30 --data-binary @- ${url} || exit 75"
`
}

function asText(entries: readonly CallbackUrl[], reports: readonly ReportUrl[]): string {
  const parts = entries.map(({ channel, url, setting, token }) => {
    const title = channel === 'email' ? 'E-mail' : 'SMS'
    return `${title}\n  URL    ${url}\n  Token  the value of ${setting} (${fingerprint(token)})\n`
  })
  const platform = `${parts.join('\n')}\nPaste both into the platform's console, press "validate", then save.\n`
  const carriers = reports.map(
    ({ carrier, url }) =>
      `\nDelivery reports of ${carrier}: enter this URL in its console\n  URL    ${url}\n`,
  )
  return platform + carriers.join('')
}
