import { type ReaderLanguage, type Sentence, say, tell, tellAll } from '../language/sentence.ts'
import type { Setting } from '../settings/setting.ts'
import { allSettings, groups, type SettingName, settingNames } from './settings.ts'

/** What everybody sets; the carrier and the language are those of most readers. */
const CALLERS = ['CORP_ID', 'EMAIL_TOKEN', 'SMS_TOKEN', 'PUBLIC_URL'] as const
const SERVED = ['TLS_CERT_FILE', 'TLS_KEY_FILE', 'ADMIN_TOKENS'] as const
const TWILIO = ['TWILIO_ACCOUNT_SID', 'TWILIO_AUTH_TOKEN', 'TWILIO_FROM'] as const
const ALIYUN = ['ALIYUN_ACCESS_KEY_ID', 'ALIYUN_ACCESS_KEY_SECRET', 'ALIYUN_SMS_SIGN_NAME'] as const
const EXAMPLES: Readonly<Record<ReaderLanguage, Readonly<Partial<Record<SettingName, string>>>>> = {
  en: toFillIn([...CALLERS, ...SERVED, 'SMTP_URL', 'MAIL_FROM', ...TWILIO, 'DEFAULT_AREA_CODE']),
  'zh-CN': {
    ...toFillIn([...CALLERS, ...SERVED, 'SMTP_URL', 'MAIL_FROM', ...ALIYUN, 'SMS_TEMPLATES_FILE']),
    DEFAULT_AREA_CODE: '86',
    LOCALE: 'zh-CN',
  },
}

function toFillIn(names: readonly SettingName[]) {
  return Object.fromEntries(names.map(name => [name, '']))
}

/** The text of .env.example, or of the one for China: what everybody sets. Made by `npm run env:example`. */
export function envExample(language: ReaderLanguage): string {
  const head = [
    say('What everybody sets; all else is in {page}.', { page: PAGES[language] }),
    say('Copy this file to .env, fill it in, save it as UTF-8, and run `callback-courier check`.'),
    say("Write values without quotes; one that has a $ or # wholly in single quotes: 'ab$cd #1'."),
    say('A secret may stand in a file instead: NAME_FILE=/run/secrets/name.'),
  ]
  const lines = Object.entries(EXAMPLES[language]).map(([name, value]) => {
    const setting: Setting<unknown> = allSettings[name as SettingName]
    const [first = ''] = /^.+?(?:\.(?= |$)|。|$)/.exec(tell(setting.meaning).in(language)) ?? []
    const example = setting.example === undefined || value !== '' ? '' : setting.example
    const shown = example === '' ? [] : [say('Example: {example}', { example }).in(language)]
    return `# ${[first, ...shown].join(language === 'en' ? ' ' : '')}\n${name}=${value}\n`
  })
  const locale = `# ${say('The language of all commands.').in(language)}\nLC_ALL=zh_CN.UTF-8\n`
  const zone = say(
    'The time zone in which people read times, such as Europe/Berlin; log, API and quotas are in UTC.',
  )
  const last = `${language === 'en' ? '' : locale}# ${zone.in(language)}\nTZ=${language === 'en' ? '' : 'Asia/Shanghai'}\n`
  return `${head.map(line => `# ${line.in(language)}\n`).join('')}\n${lines.join('')}${last}`
}

/** The pages that list every setting, from the root. */
export const PAGES: Readonly<Record<ReaderLanguage, string>> = {
  en: 'docs/settings.md',
  'zh-CN': 'docs/zh-CN/settings.md',
}

/** What an operator has to know of a setting: its effect, then its form. @param code marks what is to be written as it stands. */
export function describeSetting(
  name: SettingName,
  code: (text: string) => string,
): readonly (readonly Sentence[])[] {
  const { meaning, schema, example, secret, parts = {}, ...setting }: Setting<unknown> = allSettings[name]
  const { enum: choices, minimum, maximum } = schema
  const usual = setting.default === '{}' ? '' : (setting.default ?? '')
  return [
    [tell(meaning)],
    ...Object.entries(parts).map(([part, text]) => [
      say('- {part}: {meaning}', { part: code(part), meaning: tell(text) }),
    ]),
    [
      ...(setting.required === true ? [say('Has to be set.')] : []),
      ...(usual === '' ? [] : [say('Default: {value}.', { value: code(String(usual)) })]),
      ...(choices === undefined ? [] : [say('One of: {values}.', { values: choices.map(code).join(', ') })]),
      ...(minimum === undefined || maximum === undefined
        ? []
        : [say('From {minimum} to {maximum}.', { minimum, maximum })]),
      ...(secret === true
        ? [say('Secret; may stand in a file that {name} names.', { name: code(`${name}_FILE`) })]
        : []),
      ...(example === undefined ? [] : [say('Example: {example}', { example: code(example) })]),
    ],
  ]
}

/** The page of all settings. Made by `npm run env:example`. */
export function settingsPage(language: ReaderLanguage): string {
  const other = language === 'en' ? '[中文](zh-CN/settings.md)' : '[English](../settings.md)'
  const parts = groups.map(({ title, about, settings: own }) => [
    `## ${tell(title).in(language)}`,
    inMarkdown(tell(about), language),
    ...Object.keys(own).flatMap(name => [`### \`${name}\``, ...entryOf(name as SettingName, language)]),
  ])
  const head = [
    `# ${say('Settings').in(language)}`,
    other,
    say(
      'Each is a variable of the environment, or a line NAME=value in the file .env of the working directory; the environment wins. An empty value means "not set". Behind the name of a secret _FILE says which file holds it. `callback-courier settings NAME` prints what stands here, and `callback-courier check` tries what you have set.',
    ).in(language),
  ]
  return `${[...head, ...parts.flat()].join('\n\n')}\n`
}

function entryOf(name: SettingName, language: ReaderLanguage): readonly string[] {
  return describeSetting(name, text => `\`${text}\``).map(sentences =>
    inMarkdown(tellAll(sentences), language),
  )
}

/** Marks names of settings and pages in a sentence as links; code stays as it is. */
function inMarkdown(sentence: Sentence, language: ReaderLanguage): string {
  const known = new Set<string>(settingNames)
  return sentence
    .in(language)
    .split(/(`[^`]*`)/)
    .map((piece, at) =>
      at % 2 === 1
        ? piece
        : piece
            .replace(/[*<]/g, '\\$&')
            .replace(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g, name =>
              known.has(name) ? `[${name}](#${name.toLowerCase()})` : name,
            )
            .replace(/\bdocs\/((?:zh-CN\/)?)([\w-]+\.md)/g, (_path, folder: string, page: string) =>
              language === 'en' || folder !== '' ? `[${page}](${page})` : `[${page}](../${page})`,
            ),
    )
    .join('')
}
