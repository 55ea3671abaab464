import { isWholeInternet } from './rules.ts'
import type { SettingValues } from './settings.ts'

/** Settings that work but should not stay as they are, a sentence each. */
export function listAdvice(s: SettingValues): readonly string[] {
  return [...tokenAdvice(s), ...networkAdvice(s), ...mailAdvice(s), ...smsAdvice(s), ...alertAdvice(s)]
}

function tokenAdvice(s: SettingValues): string[] {
  const said: string[] = []
  for (const name of ['EMAIL_TOKEN', 'SMS_TOKEN', 'EMAIL_TOKEN_PREVIOUS', 'SMS_TOKEN_PREVIOUS'] as const) {
    const token = s[name]
    if (token === undefined) continue
    if (/\d$/.test(token))
      said.push(
        `${name} ends in a digit: Token and timestamp are signed without anything between them, so choose one that ends in a letter (\`callback-courier token\`)`,
      )
    if (/[\s#"'`$\\]/.test(token))
      said.push(
        `${name} has a character that dotenv files and container env files read differently (space, #, quote, $, \\): compare its fingerprint (\`callback-courier check\`), or choose another Token`,
      )
    if (token.length < 16)
      said.push(
        `${name} has fewer than 16 characters and can be guessed: \`callback-courier token\` makes a good one`,
      )
  }
  if (s.EMAIL_TOKEN !== undefined && s.EMAIL_TOKEN === s.SMS_TOKEN)
    said.push('EMAIL_TOKEN and SMS_TOKEN are the same: give each channel its own')
  for (const name of ['EMAIL_CALLBACK_KEY', 'SMS_CALLBACK_KEY'] as const)
    if (s[name] !== undefined && new Set(s[name]).size < 10)
      said.push(`${name} repeats few characters and may be guessed: make one with \`callback-courier token\``)
  return said
}

function networkAdvice(s: SettingValues): string[] {
  const said: string[] = []
  if (s.ALLOWED_SOURCES.some(isWholeInternet))
    said.push('ALLOWED_SOURCES contains a network of everybody (/0): it protects nothing')
  if (s.TRUSTED_PROXIES.some(isWholeInternet))
    said.push('TRUSTED_PROXIES contains a network of everybody (/0): any caller can then claim any address')
  if (!s.TLS && s.ALLOWED_SOURCES.length > 0 && s.TRUSTED_PROXIES.length === 0)
    said.push(
      "TLS=off means a proxy in front, but TRUSTED_PROXIES is empty: ALLOWED_SOURCES will be compared with the proxy's address",
    )
  return said
}

function mailAdvice(s: SettingValues): string[] {
  return s.SMTP_LOGIN_WITHOUT_TLS
    ? [
        "SMTP_LOGIN_WITHOUT_TLS=on lets the mail server's password cross the network in the clear: use a server with TLS, and leave it out",
      ]
    : []
}

function alertAdvice(s: SettingValues): string[] {
  return s.ALERTS !== undefined && s.DDQ_HOST === undefined
    ? ['ALERTS is set, but nobody is told of anything: set DDQ_HOST as well']
    : []
}

function smsAdvice(s: SettingValues): string[] {
  if (s.SMS_TOKEN === undefined) return []
  const said: string[] = []
  if (s.SMS_COUNTRIES === '*')
    said.push('SMS_COUNTRIES=* lets SMS go to every country, also to those where one SMS costs much')
  const { SMS_ROUTES: routes, SMS_COUNTRIES: countries } = s
  if (routes !== undefined && !routes.has('*') && Array.isArray(countries)) {
    const without = countries.filter(country => !routes.has(country))
    if (without.length > 0)
      said.push(`SMS_COUNTRIES has ${without.join(', ')}, which no route leads to: add it to SMS_ROUTES`)
  }
  return said
}
