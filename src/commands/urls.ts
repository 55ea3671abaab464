import { callbackKeys } from '../callback/key.ts'
import type { Config } from '../config.ts'
import { type Command, readArguments } from './command.ts'
import { fingerprint } from './fingerprint.ts'
import { settingsFor } from './settings-for.ts'

export interface ConsoleEntry {
  readonly channel: 'email' | 'sms'
  /** What to paste as URL. */
  readonly url: string
  /** The setting whose value to paste as Token. */
  readonly setting: 'EMAIL_TOKEN' | 'SMS_TOKEN'
  readonly token: string
}

/**
 * What to paste into the platform's console, for each channel that is on.
 * @param base scheme, host and port as the platform reaches them.
 */
export function consoleEntries(config: Config, base: string): readonly ConsoleEntry[] {
  return (['email', 'sms'] as const).flatMap(channel => {
    const name = channel === 'email' ? 'EMAIL' : 'SMS'
    const token = config[`${name}_TOKEN`]
    if (token === undefined) return []
    const corpId = config.CORP_ID
    const { current } = callbackKeys(channel, { corpId, token, ownKey: config[`${name}_CALLBACK_KEY`] })
    const url = `${base.replace(/\/+$/, '')}/callback/${encodeURIComponent(corpId)}/${current}/${channel}`
    return [{ channel, url, setting: `${name}_TOKEN` as const, token }]
  })
}

export const urls: Command = {
  usage: `callback-courier urls [--base URL] [--json]

  Prints, for each channel that is on, the URL and which Token to paste into the platform's console. The URL holds a
  key: whoever knows it can send in your name, so treat it as a password.

  --base URL  this service as the platform reaches it, instead of PUBLIC_URL
  --json      as JSON
`,
  async run(argv, io) {
    const { values } = readArguments(argv, { base: { type: 'string' }, json: { type: 'boolean' } })
    const config = settingsFor(io)
    if (config === null) return 1
    const base = values.base ?? config.PUBLIC_URL
    if (base === undefined) {
      io.stderr.write(
        'PUBLIC_URL is missing: set it to the https address of this service as the platform reaches it, or say --base https://…\n',
      )
      return 1
    }
    const entries = consoleEntries(config, base)
    io.stdout.write(values.json === true ? asJson(entries) : asText(entries))
    return 0
  },
}

function asJson(entries: readonly ConsoleEntry[]): string {
  const shown = entries.map(({ channel, url, setting }) => ({ channel, url, tokenSetting: setting }))
  return `${JSON.stringify(shown, null, 2)}\n`
}

function asText(entries: readonly ConsoleEntry[]): string {
  const parts = entries.map(({ channel, url, setting, token }) => {
    const title = channel === 'email' ? 'E-mail' : 'SMS'
    return `${title}\n  URL    ${url}\n  Token  the value of ${setting} (${fingerprint(token)})\n`
  })
  return `${parts.join('\n')}\nPaste both into the platform's console, press "validate", then save.\n`
}
