import type { Channel } from '../src/messages/message.ts'
import type { SmtpFault } from './inbox.ts'
import type { TwilioFault } from './twilio.ts'

interface Named<Fault> {
  /** For the page's list. */
  readonly title: string
  /** Null: works as it should. */
  readonly fault: Fault | null
}

/** How the mail server can be made to behave, by name. */
export const MAIL_FAULTS = faults<SmtpFault>({
  none: { title: 'takes every mail', fault: null },
  recipient: {
    title: 'knows no such recipient (550 5.1.1)',
    fault: { is: 'refuse', at: 'rcpt', code: 550, message: '5.1.1 No such user here' },
  },
  content: {
    title: 'refuses the content (554 5.7.1)',
    fault: { is: 'refuse', at: 'data', code: 554, message: '5.7.1 Message refused by content policy' },
  },
  later: {
    title: 'asks to come back later (451 4.3.2)',
    fault: { is: 'refuse', at: 'rcpt', code: 451, message: '4.3.2 Please try again later' },
  },
  slow: { title: 'answers after 4 seconds', fault: { is: 'delay', ms: 4000 } },
})

/** How Twilio can be made to behave, by name. */
export const SMS_FAULTS = faults<TwilioFault>({
  none: { title: 'takes every SMS', fault: null },
  recipient: {
    title: 'finds the number invalid (21211)',
    fault: twilioSays(400, 21211, "Invalid 'To' Phone Number"),
  },
  country: {
    title: 'may not send to the country (21408)',
    fault: twilioSays(400, 21408, 'Permission to send an SMS has not been enabled for the region'),
  },
  later: {
    title: 'is asked too often (429)',
    fault: twilioSays(429, 20429, 'Too Many Requests', { 'retry-after': '5' }),
  },
  slow: { title: 'answers after 4 seconds', fault: { is: 'delay', ms: 4000 } },
})

export function faultTitles(channel: Channel): readonly { readonly name: string; readonly title: string }[] {
  return [...(channel === 'email' ? MAIL_FAULTS : SMS_FAULTS)].map(([name, { title }]) => ({ name, title }))
}

function faults<Fault>(named: Record<string, Named<Fault>>): ReadonlyMap<string, Named<Fault>> {
  return new Map(Object.entries(named))
}

function twilioSays(
  status: number,
  code: number,
  message: string,
  headers?: Record<string, string>,
): TwilioFault {
  const body = JSON.stringify({
    code,
    message,
    more_info: `https://www.twilio.com/docs/errors/${code}`,
    status,
  })
  return { is: 'answer', status, body, ...(headers ? { headers } : {}) }
}
