import type { ReportFault } from '../outbox/outbox.ts'

function noMail(reason: string): ReportFault {
  return { verdict: 'recipient', scope: 'recipient', reason }
}

function ours(scope: 'sender' | 'message', reason: string): ReportFault {
  return { verdict: 'ours', scope, reason }
}

/** Of a recipient whom mail reaches another day, so nobody is left out for it. */
function forNow(verdict: 'limit' | 'later', reason: string): ReportFault {
  return { verdict, scope: 'recipient', reason }
}

/** Whose fault it is that a mail came back, by its enhanced status code (RFC 3463). */
const FAULTS: Readonly<Record<string, ReportFault>> = {
  '5.1.1': noMail('no such mailbox'),
  '5.1.2': noMail('no such domain'),
  '5.1.3': noMail('not an address that its server knows'),
  '5.1.6': noMail('the mailbox has moved'),
  '5.1.7': ours('sender', 'the sender address is refused: look at MAIL_FROM and MAIL_BOUNCE_TO'),
  '5.1.8': ours('sender', 'the sender’s domain is refused: look at MAIL_FROM and MAIL_BOUNCE_TO'),
  '5.1.10': noMail('the address takes no mail'),
  '5.2.1': noMail('the mailbox is disabled'),
  '5.2.2': forNow('limit', 'the mailbox is full'),
  '4.2.2': forNow('limit', 'the mailbox is full'),
  '4.4.1': forNow('later', 'the recipient’s mail server does not answer'),
  '4.4.7': forNow('later', 'your mail server tried for days and gave up'),
  complaint: ours('message', 'the recipient complained of it'),
}
const POLICY = ours('message', 'refused by policy: look at reputation, SPF, DKIM and DMARC')

/** @param code an enhanced status code, or `complaint`. @returns undefined: nobody knows. */
export function faultOf(code: string): ReportFault | undefined {
  return FAULTS[code] ?? (/^[45]\.7\./.test(code) ? POLICY : undefined)
}
