import { writeFileSync } from 'node:fs'
import { describeSetting } from '../../src/commands/settings.ts'
import { groups, type SettingName, settingNames, settingOf } from '../../src/config/settings.ts'
import { type ReaderLanguage, type Sentence, tell, tellAll } from '../../src/language/sentence.ts'

/** What everybody sets; the carrier and the language are those of most readers. */
const ALWAYS =
  'CORP_ID EMAIL_TOKEN SMS_TOKEN PUBLIC_URL TLS_CERT_FILE TLS_KEY_FILE ADMIN_TOKENS SMTP_URL MAIL_FROM'

/** The example and the page of a language, by their paths from the root, and what stands in them beside the settings. */
const TEXTS = {
  en: {
    example: '.env.example',
    page: 'docs/settings.md',
    other: '[中文](zh-CN/settings.md)',
    names: `${ALWAYS} TWILIO_ACCOUNT_SID TWILIO_AUTH_TOKEN TWILIO_FROM DEFAULT_AREA_CODE`,
    given: {} as Readonly<Record<string, string>>,
    head: [
      'What everybody sets; all else is in docs/settings.md.',
      'Copy this file to .env, fill it in, save it as UTF-8, and run `callback-courier check`.',
      "Write values without quotes; one that has a $ or # wholly in single quotes: 'ab$cd #1'.",
      'A secret may stand in a file instead: NAME_FILE=/run/secrets/name.',
    ],
    foot: '# The time zone in which people read times, such as Europe/Berlin; log, API and quotas are in UTC.\nTZ=\n',
    shown: ' Example: ',
    title: 'Settings',
    about:
      'Each is a variable of the environment, or a line NAME=value in the file .env of the working directory; the environment wins. An empty value means "not set". Behind the name of a secret _FILE says which file holds it. `callback-courier settings NAME` prints what stands here, and `callback-courier check` tries what you have set.',
  },
  'zh-CN': {
    example: '.env.example.zh-CN',
    page: 'docs/zh-CN/settings.md',
    other: '[English](../settings.md)',
    names: `${ALWAYS} ALIYUN_ACCESS_KEY_ID ALIYUN_ACCESS_KEY_SECRET ALIYUN_SMS_SIGN_NAME SMS_TEMPLATES_FILE DEFAULT_AREA_CODE LOCALE`,
    given: { DEFAULT_AREA_CODE: '86', LOCALE: 'zh-CN' },
    head: [
      '一般都要填写的设置；其余见 docs/zh-CN/settings.md。',
      '把本文件复制为 .env 并填写，保存为 UTF-8 编码，然后运行 `callback-courier check`。',
      "值不要加引号；只有含 $ 或 # 的值，要整个放进单引号：'ab$cd #1'。",
      '密钥也可以放在文件中：NAME_FILE=/run/secrets/name。',
    ],
    foot: '# 所有命令的语言。\nLC_ALL=zh_CN.UTF-8\n# 给人看的时间所用的时区，包括设备告警；日志、API 和配额用 UTC。\nTZ=Asia/Shanghai\n',
    shown: '示例：',
    title: '设置',
    about:
      '每项设置是一个环境变量，或工作目录下 .env 文件中的一行 NAME=value；以环境变量为准。空值等于未设置。密钥的名称后加 _FILE，表示它保存在哪个文件中。`callback-courier settings NAME` 输出本页对应的内容，`callback-courier check` 检验您的设置。',
  },
} as const

/** Makes the example of settings and the page of all settings, as they are to stand in the repository. */
export function makePages(language: ReaderLanguage) {
  const { example, page } = TEXTS[language]
  return { example, exampleText: envExample(language), page, pageText: settingsPage(language) }
}

function envExample(language: ReaderLanguage): string {
  const { names, head, foot, shown } = TEXTS[language]
  const given: Readonly<Record<string, string>> = TEXTS[language].given
  const lines = names.split(' ').map(name => {
    const { meaning = '', example = '' } = settingOf(name) ?? {}
    const value = given[name] ?? ''
    const [first = ''] = /^.+?(?:\.(?= |$)|。|$)/.exec(tell(meaning).in(language)) ?? []
    return `# ${first}${example === '' || value !== '' ? '' : shown + example}\n${name}=${value}\n`
  })
  return `${head.map(line => `# ${line}\n`).join('')}\n${lines.join('')}${foot}`
}

function settingsPage(language: ReaderLanguage): string {
  const { title, other, about } = TEXTS[language]
  const parts = groups.map(group => [
    `## ${tell(group.title).in(language)}`,
    inMarkdown(tell(group.about), language),
    ...Object.keys(group.settings).flatMap(name => [
      `### \`${name}\``,
      ...describeSetting(name as SettingName, text => `\`${text}\``).map(sentences =>
        inMarkdown(tellAll(sentences), language),
      ),
    ]),
  ])
  return `${[`# ${title}`, other, about, ...parts.flat()].join('\n\n')}\n`
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

// `npm run env:example`: a changed setting changes the files; a test holds that they agree.
if (import.meta.main)
  for (const language of ['en', 'zh-CN'] as const) {
    const { example, exampleText, page, pageText } = makePages(language)
    writeFileSync(new URL(`../../${example}`, import.meta.url), exampleText)
    writeFileSync(new URL(`../../${page}`, import.meta.url), pageText)
  }
