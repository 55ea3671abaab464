import { parseArgs } from 'node:util'

export const USAGE = `npm run sandbox -- [options]

  The real service against a mail server and a Twilio of this machine, and a page that shows what arrived.
  Needs no account, no certificate and no setting; nothing leaves the machine and nothing is kept.

  --once               play each kind once, print a table, end; the exit code is 0 only when each arrived exactly once
  --save DIR           with --once: where to keep what arrived (default data/sandbox)
  --port N             port of the callbacks (8443, or a free one)
  --admin-port N       port of health, metrics and console (9090, or a free one)
  --page-port N        port of the page (8025, or a free one)
  --devices-port N     port of the page of devices that raise alerts (8026, or a free one)
  --set NAME=VALUE     any setting of the service, such as --set LOCALE=zh-CN; may be repeated
`

export interface SandboxCommandOptions {
  readonly once: boolean
  readonly save: string
  /** Undefined: the usual one, or a free one when that is taken. */
  readonly ports: {
    readonly callbacks?: number
    readonly admin?: number
    readonly page?: number
    readonly devices?: number
  }
  /** Settings that take precedence over the sandbox's own. */
  readonly settings: Readonly<Record<string, string>>
}

export type ParsedOptions =
  | { readonly is: 'run'; readonly options: SandboxCommandOptions }
  | { readonly is: 'help' }
  /** A sentence for whoever typed it. */
  | { readonly is: 'fault'; readonly fault: string }

/** Reads the command line, without the `sandbox` in front. */
export function parseOptions(argv: readonly string[]): ParsedOptions {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        once: { type: 'boolean', default: false },
        save: { type: 'string', default: 'data/sandbox' },
        port: { type: 'string' },
        'admin-port': { type: 'string' },
        'page-port': { type: 'string' },
        'devices-port': { type: 'string' },
        set: { type: 'string', multiple: true, default: [] },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) return { is: 'help' }
    return {
      is: 'run',
      options: {
        once: values.once,
        save: values.save,
        ports: {
          ...port('callbacks', '--port', values.port),
          ...port('admin', '--admin-port', values['admin-port']),
          ...port('page', '--page-port', values['page-port']),
          ...port('devices', '--devices-port', values['devices-port']),
        },
        settings: Object.fromEntries(values.set.map(setting)),
      },
    }
  } catch (error) {
    return { is: 'fault', fault: error instanceof Error ? error.message : String(error) }
  }
}

function port(name: string, flag: string, text: string | undefined): Record<string, number> {
  if (text === undefined) return {}
  const number = Number(text)
  if (!Number.isInteger(number) || number < 0 || number > 65_535)
    throw new Error(`${flag} must be a port number, 0 to 65535; 0 is any free one`)
  return { [name]: number }
}

function setting(text: string): [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw new Error('--set must be followed by NAME=VALUE')
  return [text.slice(0, at), text.slice(at + 1)]
}
