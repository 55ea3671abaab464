import { readMailbox } from '../../settings/mailbox.ts'
import { readColor, readHosts, readLocale, readSwitch } from '../../settings/readers.ts'
import { type Group, settingWithReader, textSetting } from '../../settings/setting.ts'
import { readBrandUrl } from '../../settings/urls.ts'

/** The display name of MAIL_FROM, when it has one. */
function nameOfFrom(given: Readonly<Record<string, string>>): string | undefined {
  const from = given.MAIL_FROM === undefined ? { fault: 'absent' } : readMailbox(given.MAIL_FROM)
  return 'value' in from ? from.value.name : undefined
}

const settings = {
  BRAND_NAME: textSetting({
    fill: true,
    pattern: '^[^\\u0000-\\u001f\\u007f]{1,40}$',
    form: '1 to 40 characters on one line',
    defaultFrom: nameOfFrom,
    meaning: 'The name people know you by; stands in every mail and SMS. Left out: the name in MAIL_FROM.',
    example: 'Example',
  }),
  BRAND_URL: settingWithReader(readBrandUrl, {
    meaning: 'Your web site, at the foot of mails.',
    example: 'https://www.example.com',
  }),
  BRAND_COLOR: settingWithReader(readColor, {
    default: '1f5fd6',
    meaning: 'Colour of buttons and codes in mails: six hex digits, with or without #.',
    example: '0a7d55',
  }),
  LOCALE: settingWithReader(readLocale, {
    default: 'en',
    meaning: 'Language of mails and SMS.',
    example: 'zh-CN',
  }),
  TEMPLATES_DIR: textSetting({
    meaning: 'Folder with templates of your own, in place of the built-in ones.',
    example: '/templates',
  }),
  LINK_HOSTS: settingWithReader(readHosts, {
    default: '',
    meaning:
      'Hosts that links in messages may lead to; *.example.com means everything under it. Empty: any host.',
    example: 'www.example.com, *.iot.example.com',
  }),
  LINKS_HTTPS_ONLY: settingWithReader(readSwitch, {
    default: 'off',
    meaning: 'on: a message whose link is not https is refused.',
    example: 'on',
  }),
} as const

/** Texts that people read. */
export const words: Group<typeof settings> = {
  title: 'Words and brand',
  about: 'Languages built in: en, zh-CN, zh-TW, es, ar. A further one is a file in TEMPLATES_DIR.',
  settings,
}
