import type { NamedFaults } from '../stand-in.ts'
import type { SmtpFault } from './inbox.ts'

/** How the mail server can be made to behave. */
export const MAIL_FAULTS: NamedFaults<SmtpFault> = {
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
}
