import { type Config, ConfigError, loadConfig, type SettingSources } from '../../src/config/config.ts'

/** The least that serves both channels. */
export const enough = {
  CORP_ID: '100fa4b2',
  EMAIL_TOKEN: 'kbXvWqzRtYpLmNhJgFdS',
  SMS_TOKEN: 'tGmZwHcYsBxKrVjNdQpF',
  TLS: 'off',
  SMTP_URL: 'smtp://user:hunter2secret@mail.example.com',
  MAIL_FROM: 'Example <no-reply@example.com>',
  TWILIO_ACCOUNT_SID: `AC${'0'.repeat(31)}1`,
  TWILIO_AUTH_TOKEN: 'twilio-auth-token',
  TWILIO_FROM: '+15005550006',
  DEFAULT_AREA_CODE: '86',
  ADMIN_TOKENS: 'fGtRqWzXcVbNmKjHpLsD',
} as const

/** Reads settings from `files` instead of the disk. */
export function sourcesOf(
  env: Readonly<Record<string, string | undefined>>,
  files: Readonly<Record<string, string>> = {},
): SettingSources {
  return {
    env,
    dotenvPath: '.env',
    readFile(path) {
      const text = files[path]
      if (text === undefined) throw Object.assign(new Error(`no ${path}`), { code: 'ENOENT' })
      return text
    },
  }
}

/** Writes what JSON has no form for as a list. */
export const entriesOf = (_key: string, value: unknown) =>
  value instanceof Map || value instanceof Set ? [...value] : value

export function load(
  env: Readonly<Record<string, string | undefined>>,
  files: Readonly<Record<string, string>> = {},
): Config {
  return loadConfig(sourcesOf(env, files))
}

/** Writes a fault as `NAME problem: remedy`. */
export const describeFault = ({ name, problem, remedy }: ConfigError['faults'][number]) =>
  `${String(name)} ${String(problem)}${remedy === undefined ? '' : `: ${String(remedy)}`}`

/** Faults as `NAME problem`; none when the settings can be used. */
export function faultsIn(
  env: Readonly<Record<string, string | undefined>>,
  files: Readonly<Record<string, string>> = {},
): readonly string[] {
  try {
    load(env, files)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.faults.map(describeFault)
  }
}
