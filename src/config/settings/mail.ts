import { providerSettings } from '../../providers/list.ts'
import { readAddress, readMailbox } from '../../settings/mailbox.ts'
import { readDomain } from '../../settings/readers.ts'
import { choiceSetting, type Group, settingWithReader, textSetting } from '../../settings/setting.ts'

/** The address of MAIL_FROM, when it can be read. */
function addressOfFrom(given: Readonly<Record<string, string>>): string | undefined {
  const from = given.MAIL_FROM === undefined ? { fault: 'absent' } : readMailbox(given.MAIL_FROM)
  return 'value' in from ? from.value.address : undefined
}

const settings = {
  ...providerSettings('email'),
  MAIL_FROM: settingWithReader(readMailbox, {
    fill: true,
    meaning: 'Who mails are from.',
    example: 'Example <no-reply@example.com>',
  }),
  MAIL_REPLY_TO: settingWithReader(readMailbox, {
    meaning: 'Where answers of readers go, when not to MAIL_FROM.',
    example: 'Example Support <support@example.com>',
  }),
  MAIL_BOUNCE_TO: settingWithReader(readAddress, {
    defaultFrom: addressOfFrom,
    meaning:
      'Envelope sender: where mail servers report what they could not deliver. Left out: the address of MAIL_FROM.',
    example: 'bounces@example.com',
  }),
  DKIM_DOMAIN: settingWithReader(readDomain, {
    meaning: 'Signs mails with DKIM, when your mail server does not: the domain. All three or none.',
    example: 'example.com',
  }),
  DKIM_SELECTOR: textSetting({
    pattern: '^[A-Za-z0-9]([A-Za-z0-9.-]{0,61}[A-Za-z0-9])?$',
    form: 'letters, digits, dots and hyphens',
    meaning: 'DKIM: the selector, under which the public key stands in the DNS.',
    example: 'courier',
  }),
  DKIM_KEY_FILE: textSetting({
    meaning: 'DKIM: PEM file of the private key.',
    example: '/secrets/dkim.pem',
  }),
  EMAIL_WORDS: choiceSetting(['ours', 'platform'], {
    default: 'ours',
    meaning:
      "Whose words mails use. platform: the platform's own plain text, when it sends one, in this service's layout.",
    example: 'platform',
  }),
} as const

export const mail: Group<typeof settings> = {
  title: 'E-mail',
  about: 'SMTP_URL and MAIL_FROM are needed when EMAIL_TOKEN is set.',
  settings,
}
