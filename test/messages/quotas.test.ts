import t from 'tap'
import { QUOTA_LIST } from '../../src/messages/quotas.ts'

t.test(
  'each quota with its window in seconds and its usual limit, in the order in which a message is counted',
  async t => {
    t.same(
      QUOTA_LIST.map(
        ({ name, channel = 'both', per, windowMs, usual, warns = false, newcomersOnly = false }) =>
          `${name}: ${channel}, ${usual} per ${per} in ${windowMs / 1000} s${warns ? ', warns' : ''}${newcomersOnly ? ', newcomers only' : ''}`,
      ),
      [
        'recipient-10m: both, 5 per recipient in 600 s',
        'recipient-day: both, 20 per recipient in 86400 s',
        'alarm-recipient-hour: both, 100 per alarm-recipient in 3600 s, warns',
        'signup-domain-hour: email, 200 per signup-domain in 3600 s, warns, newcomers only',
        'sms-newcomers-hour: sms, 0 per calling-code in 3600 s, warns, newcomers only',
        'sms-prefix-10m: sms, 50 per prefix in 600 s',
        'sms-country-day: sms, 0 per country in 86400 s',
        'sms-minute: sms, 600 per channel in 60 s, warns',
        'sms-day: sms, 20000 per channel in 86400 s, warns',
        'email-minute: email, 6000 per channel in 60 s, warns',
        'email-day: email, 0 per channel in 86400 s, warns',
      ],
    )
  },
)
