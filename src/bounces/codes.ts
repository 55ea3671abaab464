import type { ReportFault } from '../outbox/outbox.ts'

type Fault = readonly [ReportFault['verdict'], ReportFault['scope'], reason: string]

/** Whose fault it is that a mail came back, by its enhanced status code (RFC 3463). Nobody is left out for a fault that passes. */
const FAULTS: Readonly<Record<string, Fault>> = {
  '5.1.1': ['recipient', 'recipient', 'no such mailbox'],
  '5.1.2': ['recipient', 'recipient', 'no such domain'],
  '5.1.3': ['recipient', 'recipient', 'not an address that its server knows'],
  '5.1.6': ['recipient', 'recipient', 'the mailbox has moved'],
  '5.1.7': ['ours', 'sender', 'the sender address is refused: look at MAIL_FROM and MAIL_BOUNCE_TO'],
  '5.1.8': ['ours', 'sender', 'the sender’s domain is refused: look at MAIL_FROM and MAIL_BOUNCE_TO'],
  '5.1.10': ['recipient', 'recipient', 'the address takes no mail'],
  '5.2.1': ['recipient', 'recipient', 'the mailbox is disabled'],
  '5.2.2': ['limit', 'recipient', 'the mailbox is full'],
  '4.2.2': ['limit', 'recipient', 'the mailbox is full'],
  '4.4.1': ['later', 'recipient', 'the recipient’s mail server does not answer'],
  '4.4.7': ['later', 'recipient', 'your mail server tried for days and gave up'],
  complaint: ['ours', 'message', 'the recipient complained of it'],
}
const POLICY: Fault = ['ours', 'message', 'refused by policy: look at reputation, SPF, DKIM and DMARC']

/** @param code an enhanced status code, or `complaint`. @returns undefined: nobody knows. */
export function faultOf(code: string): ReportFault | undefined {
  const fault = FAULTS[code] ?? (/^[45]\.7\./.test(code) ? POLICY : undefined)
  if (fault === undefined) return undefined
  const [verdict, scope, reason] = fault
  return { verdict, scope, reason }
}
