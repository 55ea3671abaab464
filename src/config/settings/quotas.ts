import { readQuota } from '../../settings/readers.ts'
import { type Group, settingWithReader } from '../../settings/setting.ts'

const settings = {
  QUOTA_RECIPIENT_PER_10_MINUTES: settingWithReader(readQuota, {
    default: '5',
    meaning: 'Codes and links of one kind to one recipient in 10 minutes. Alarms are not held back by it.',
    example: '5',
  }),
  QUOTA_RECIPIENT_PER_DAY: settingWithReader(readQuota, {
    default: '20',
    meaning: 'The same in a day.',
    example: '20',
  }),
  QUOTA_SMS_PREFIX_PER_10_MINUTES: settingWithReader(readQuota, {
    default: '50',
    meaning: 'SMS in 10 minutes to numbers that differ only in their last four digits.',
    example: '50',
  }),
  QUOTA_ALARM_RECIPIENT_PER_HOUR: settingWithReader(readQuota, {
    default: '100',
    meaning: 'Alarms of one kind to one recipient in an hour.',
    example: '100',
  }),
  QUOTA_SMS_COUNTRY_PER_DAY: settingWithReader(readQuota, {
    default: 'off',
    meaning: 'SMS to one country in a day.',
    example: '5000',
  }),
  QUOTA_SMS_PER_MINUTE: settingWithReader(readQuota, {
    default: '600',
    meaning: 'All SMS in a minute: the limit of the whole account.',
    example: '300',
  }),
  QUOTA_SMS_PER_DAY: settingWithReader(readQuota, {
    default: '20000',
    meaning: 'All SMS in a day. Name a figure that you are willing to pay.',
    example: '10000',
  }),
  QUOTA_EMAIL_PER_MINUTE: settingWithReader(readQuota, {
    default: '6000',
    meaning: 'All mails in a minute.',
    example: '600',
  }),
  QUOTA_EMAIL_PER_DAY: settingWithReader(readQuota, {
    default: 'off',
    meaning: 'All mails in a day.',
    example: '50000',
  }),
} as const

/** Limits on the cost of a flood of callbacks. */
export const quotas: Group<typeof settings> = {
  title: 'Quotas',
  about:
    'Beyond a quota nothing is sent and the answer is 429; half of one for a whole channel is a warning in the log. Each is a number, or off, which has to be written.',
  settings,
}
