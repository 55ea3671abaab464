import { isLoopback } from '../../settings/loopback.ts'
import type { ParsedSetting } from '../../settings/parsed-setting.ts'
import { readSwitch } from '../../settings/readers.ts'
import { integer, missing, read, type SettingFault, type Values } from '../../settings/setting.ts'
import { readSmtpUrl } from './url.ts'

/** The URL stays text: it is read again where it is used, and only there does the password stand alone. */
function readUrl(text: string): ParsedSetting<string> {
  const address = readSmtpUrl(text.trim())
  return 'wrong' in address ? { fault: address.wrong } : { value: text.trim() }
}

/** Settings of the enterprise's mail servers. */
export const smtpSettings = {
  SMTP_URL: read(readUrl, {
    fill: true,
    secret: true,
    meaning:
      'Your mail server: smtp:// (STARTTLS is required; port 587) or smtps:// (TLS from the start; port 465), user and password percent-encoded. For a server without TLS, on this machine: smtp://localhost:25?ignoreTLS=true.',
    example: 'smtp://courier:password@mail.example.com:587',
  }),
  SMTP_FALLBACK_URL: read(readUrl, {
    secret: true,
    meaning: 'A second mail server, used when the first one refuses or cannot be reached.',
    example: 'smtps://courier:password@mail2.example.com:465',
  }),
  SMTP_LOGIN_WITHOUT_TLS: read(readSwitch, {
    default: 'off',
    meaning:
      'on: user and password may cross the network in the clear, to a server on another machine that offers no TLS (?requireTLS=false) or is not asked for it (?ignoreTLS=true). Whoever is on the way reads them.',
    example: 'on',
  }),
  SMTP_CONNECTIONS: integer({
    minimum: 1,
    maximum: 200,
    default: 50,
    meaning:
      'Connections to the mail server at the same time, at most. Fewer are used when more do not pay, or when it refuses one more.',
    example: '50',
  }),
} as const

/** What they lack or contradict when e-mail is on. */
export function findSmtpFaults(settings: Partial<Values<typeof smtpSettings>>): readonly SettingFault[] {
  const remedy = 'e-mail is on (EMAIL_TOKEN), so name your mail server: smtp://user:password@host:587'
  const absent = settings.SMTP_URL === undefined ? [missing('SMTP_URL', remedy)] : []
  if (settings.SMTP_LOGIN_WITHOUT_TLS !== false) return absent
  return [...absent, ...URLS.filter(name => logsInWithoutTls(settings[name])).map(loginInTheClear)]
}

const URLS = ['SMTP_URL', 'SMTP_FALLBACK_URL'] as const

function logsInWithoutTls(url: string | undefined): boolean {
  const address = url === undefined ? { wrong: 'absent' } : readSmtpUrl(url)
  if ('wrong' in address || address.auth === undefined || address.secure) return false
  return address.startTls === 'off' && !isLoopback(address.host)
}

function loginInTheClear(name: string): SettingFault {
  const problem =
    'has a password and ?ignoreTLS=true, so that it would cross the network in the clear: leave ignoreTLS out, or set SMTP_LOGIN_WITHOUT_TLS=on if nobody can listen on the way'
  return { name, problem }
}
