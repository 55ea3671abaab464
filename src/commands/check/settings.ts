import type { Config } from '../../config/config.ts'
import { type CheckResult, checkFailure, checkOk, checkWarning } from '../../runtime/check-result.ts'
import type { Renderer } from '../../words/render.ts'
import { fingerprint } from '../token.ts'

const CHANNELS = [
  ['email', 'EMAIL_TOKEN'],
  ['sms', 'SMS_TOKEN'],
] as const

/** Checks what the settings alone show. */
export function checkSettings(config: Config): readonly CheckResult[] {
  return [
    checkOk(
      'settings',
      `read; ${CHANNELS.map(([name, token]) => `${name} is ${config[token] ? 'on' : 'off'}`).join(', ')}`,
    ),
    ...config.warnings.map(({ name, sentence, remedy = 'see `callback-courier settings`' }) =>
      checkWarning(name, sentence, remedy),
    ),
    ...CHANNELS.flatMap(([, name]) => {
      const token = config[name]
      return token === undefined ? [] : [checkOk(name, fingerprint(token))]
    }),
    ...checkCallers(config),
    ...checkLinks(config),
    ...checkAccountQuotas(config),
  ]
}

function* checkCallers(config: Config): Generator<CheckResult> {
  if (config.PUBLIC_URL === undefined)
    yield checkWarning(
      'PUBLIC_URL',
      'is not set',
      'set it to this service as the platform reaches it, so that `urls` can print what to paste',
    )
  const protections = [
    'the key in the URL',
    ...(config.ALLOWED_SOURCES.length > 0 ? [`${config.ALLOWED_SOURCES.length} allowed networks`] : []),
    ...(config.POST_SIGNATURE === 'required' ? ['a signature on every POST'] : []),
  ]
  const next =
    config.POST_SIGNATURE === 'observe'
      ? 'once the console or the metrics show that POSTs come signed, set POST_SIGNATURE=required'
      : undefined
  yield checkOk('callers', `let in by ${protections.join(', ')}`, next)
}

function checkLinks(config: Config): readonly CheckResult[] {
  const hosts = config.LINK_HOSTS.length > 0 ? `to ${config.LINK_HOSTS.join(', ')}` : 'to any host'
  const schemes = config.LINKS_HTTPS_ONLY ? 'https only' : 'http too'
  const next =
    config.LINKS_HTTPS_ONLY && config.LINK_HOSTS.length > 0
      ? undefined
      : 'when you know what links the platform sends, set LINK_HOSTS and LINKS_HTTPS_ONLY=on'
  return [checkOk('links', `${hosts}, ${schemes}`, next)]
}

/** The brakes that an operator has switched off: the channel they are of, what is open, and what that may cost. */
const BRAKES = [
  [
    'SMS_TOKEN',
    'sms-minute',
    'nothing limits all SMS of a minute',
    'a number: whoever gets hold of the URL sends a thousand SMS a second, at some cents each',
  ],
  [
    'SMS_TOKEN',
    'sms-day',
    'nothing limits all SMS of a day',
    'what you are willing to pay: 600 a minute are 860,000 in a day',
  ],
  [
    'EMAIL_TOKEN',
    'email-minute',
    'nothing limits all mails of a minute',
    'a number: one flood in your name, and your domain is on block lists',
  ],
  [
    'CORP_ID',
    'alarm-recipient-hour',
    'nothing limits the alarms to one recipient',
    'a number: one device that flutters fills a mailbox, or costs an SMS each time',
  ],
] as const

/** The quotas that hold for a whole account. */
function* checkAccountQuotas(config: Config): Generator<CheckResult> {
  for (const [channel, name, open, cost] of BRAKES)
    if (config[channel] !== undefined && config.QUOTAS[name] === 0)
      yield checkWarning('quotas', open, `set ${name} in QUOTAS to ${cost}`)
  if (config.EMAIL_TOKEN !== undefined && config.QUOTAS['email-day'] === 0)
    yield checkOk(
      'quotas',
      'nothing limits all mails of a day',
      'email-day in QUOTAS would protect your reputation as a sender',
    )
}

/** Reports problems of the built-in templates and the operator's own; reading them tries each template with each kind. */
export function checkTemplates(config: Config, renderer: Renderer): readonly CheckResult[] {
  const problems = renderer.problems().map(({ file, line, reason, is }) => {
    const where = line === undefined ? file : `${file}:${line}`
    return is === 'refused'
      ? checkFailure(
          'templates',
          `${where}: ${reason}`,
          'mend the file in TEMPLATES_DIR; until then the built-in words are used',
        )
      : checkWarning('templates', `${where}: ${reason}`, 'see TEMPLATES_DIR, LOCALE and LOCALE_BY_COUNTRY')
  })
  if (problems.length > 0) return problems
  const own = config.TEMPLATES_DIR === undefined ? '' : ` and ${config.TEMPLATES_DIR}`
  return [checkOk('templates', `${config.LOCALE} (there are ${renderer.locales.join(', ')}); built in${own}`)]
}
