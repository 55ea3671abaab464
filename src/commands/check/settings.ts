import type { Config } from '../../config/config.ts'
import { listWords, quote, say, type Words, withRemedy } from '../../language/sentence.ts'
import { QUOTA_LIST } from '../../messages/quotas.ts'
import { type CheckResult, checksOf } from '../../runtime/check-result.ts'
import type { SettingFault } from '../../settings/setting.ts'
import type { Renderer } from '../../words/render.ts'
import { fingerprint } from '../token.ts'

const CHANNELS = [
  ['email', 'EMAIL_TOKEN'],
  ['sms', 'SMS_TOKEN'],
] as const

/** What the fault of a setting is to a check. */
export function resultOfFault(is: 'warn' | 'fail', { name, problem, remedy }: SettingFault): CheckResult {
  return checksOf(name)[is](problem, remedy ?? 'see `callback-courier settings`')
}

/** Checks what the settings alone show. */
export function checkSettings(config: Config): readonly CheckResult[] {
  return [
    checksOf('settings').ok(
      say('read; {channels}', {
        channels: listWords(
          CHANNELS.map(([name, token]) =>
            say('{channel} is {state}', { channel: say(name), state: say(config[token] ? 'on' : 'off') }),
          ),
        ),
      }),
    ),
    ...config.warnings.map(fault => resultOfFault('warn', fault)),
    ...CHANNELS.flatMap(([, name]) => {
      const token = config[name]
      return token === undefined ? [] : [checksOf(name).ok(fingerprint(token))]
    }),
    ...checkCallers(config),
    ...checkLinks(config),
    ...checkBrakes(config),
    ...checkNames(config),
  ]
}

function* checkCallers(config: Config): Generator<CheckResult> {
  if (config.PUBLIC_URL === undefined)
    yield checksOf('PUBLIC_URL').warn(
      'is not set',
      'set it to this service as the platform reaches it, so that `urls` can print what to paste',
    )
  const protections: Words[] = [
    'the key in the URL',
    ...(config.ALLOWED_SOURCES.length > 0
      ? [say('{n} allowed networks', { n: config.ALLOWED_SOURCES.length })]
      : []),
    ...(config.POST_SIGNATURE === 'required' ? (['a signature on every POST'] as const) : []),
  ]
  const next =
    config.POST_SIGNATURE === 'observe'
      ? 'once the console or the metrics show that POSTs come signed, set POST_SIGNATURE=required'
      : undefined
  yield checksOf('callers').ok(say('let in by {protections}', { protections: listWords(protections) }), next)
}

function checkLinks(config: Config): readonly CheckResult[] {
  const hosts = config.LINK_HOSTS.join(', ') || say('any host')
  const next =
    config.LINKS_HTTPS_ONLY && config.LINK_HOSTS.length > 0
      ? undefined
      : 'when you know what links the platform sends, set LINK_HOSTS and LINKS_HTTPS_ONLY=on'
  const what = config.LINKS_HTTPS_ONLY
    ? say('to {hosts}, https only', { hosts })
    : say('to {hosts}, http too', { hosts })
  return [checksOf('links').ok(what, next)]
}

/** The quotas that stop a flood, and are off though they usually are not. */
function* checkBrakes(config: Config): Generator<CheckResult> {
  for (const { name, channel, warns, usual } of QUOTA_LIST) {
    const isOn =
      channel === undefined || config[channel === 'sms' ? 'SMS_TOKEN' : 'EMAIL_TOKEN'] !== undefined
    if (isOn && warns && usual > 0 && config.QUOTAS[name] === 0)
      yield checksOf('quotas').warn(
        say('the quota {name} is off', { name }),
        say(
          'set {name} in QUOTAS to a number: a flood in your name costs money for each SMS, and brings your domain on block lists',
          { name },
        ),
      )
  }
}

/** What Android takes for a code: 4 to 10 letters and digits, with a digit (SMS User Consent). */
const LIKE_CODE = /(?<![\p{L}\p{N}])(?=[a-z]*\d)[a-z\d]{4,10}(?![\p{L}\p{N}])/iu

/** Names in front of a code that a phone may take for it. */
function checkNames({ BRAND_NAME, PLUGIN_SENDERS }: Config): readonly CheckResult[] {
  const names = [BRAND_NAME, ...[...PLUGIN_SENDERS.values()].map(({ signature }) => signature)]
  const next = 'write it without digits if they do; WEBOTP_DOMAIN adds a line that names the code'
  return [...new Set(names)]
    .filter(name => LIKE_CODE.test(name ?? ''))
    .map(name =>
      checksOf('BRAND_NAME').warn(
        say('{name} looks like a code, and phones may fill it in for one', { name: name ?? '' }),
        next,
      ),
    )
}

const templates = checksOf('templates')

/** Reports problems of the built-in templates and the operator's own; reading them tries each template with each kind. */
export function checkTemplates(renderer: Renderer, config: Config): readonly CheckResult[] {
  const problems = renderer.problems().map(({ file, line, reason, is }) => {
    const what = withRemedy(quote(line === undefined ? file : `${file}:${line}`), reason)
    return is === 'refused'
      ? templates.fail(what, 'mend the file in TEMPLATES_DIR; until then the built-in words are used')
      : templates.warn(what, 'see TEMPLATES_DIR, LOCALE and LOCALE_BY_COUNTRY')
  })
  if (problems.length > 0) return problems
  const used = { locale: config.LOCALE, locales: renderer.locales.join(', ') }
  const { TEMPLATES_DIR: folder } = config
  const what =
    folder === undefined
      ? say('{locale} (there are {locales}); built in', used)
      : say('{locale} (there are {locales}); built in and {folder}', { ...used, folder })
  return [templates.ok(what)]
}
