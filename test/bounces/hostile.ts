import { compose, FORMS, type Returned } from './forms.ts'

const OCTETS = 128 * 1024

/** Repeats a text until it fills a report. */
const fill = (text: string, octets = OCTETS - 4096): string =>
  text.repeat(Math.ceil(octets / text.length)).slice(0, octets)

/**
 * Reports on a mail that strangers may make so that they take long to read: each is made for another part of readers of mail, and as
 * long as a report may be.
 */
export function hostileReports(given: Returned): Readonly<Record<string, string>> {
  const form = FORMS['postfix']
  const text = form(given)
  const boundary = '=_report_1f3870be'
  const inHead = (field: string) => text.replace('MIME-Version', () => `${field}\r\nMIME-Version`)
  const inPart = (field: string) =>
    text.replace(
      'Content-Type: message/delivery-status',
      () => `${field}\r\nContent-Type: message/delivery-status`,
    )
  const inStatus = (lines: string) => text.replace('Final-Recipient', () => `${lines}\r\nFinal-Recipient`)
  const typed = (parameters: string) =>
    text.replace(/(multipart\/report);/, () => `multipart/report; ${parameters};`)
  const encoded = (encoding: string, body: string) =>
    compose({
      human: 'x',
      parts: [
        `Content-Type: message/delivery-status\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}`,
      ],
    })
  return {
    'a Cc for the address parser': inHead(`Cc: ${fill('=?utf-8?Q?a:b=2C?= <b@c>,')}`),
    'what it answers': inHead(`In-Reply-To: ${fill('=?utf-8?Q?=3C?= ')}`),
    spaces: inHead(`X: ${fill(' ')}x`),
    'a head of folded lines': inHead(`X: a\r\n${fill(' a\r\n')} a`),
    'a folded Content-Type': typed(fill('\r\n a=b;')),
    'a head of fields that count': inHead(fill('To: a\r\n').trimEnd()),
    'a folded field that counts': inHead(`In-Reply-To: a\r\n${fill(' a\r\n')} a`),
    'a head of CRs': inHead(`X: ${fill('\r')}x`),
    'a head of line ends': `${fill('\n')}${text}`,
    parameters: typed(fill('a=b; ')),
    'comments in the type': typed(`a="${fill('(')}"`),
    'boundaries in the type': typed(fill('boundary=x; ')),
    'a long boundary': text.replaceAll(boundary, fill('-', 30_000)),
    'lines like boundaries': text.replace(
      'This is the mail',
      () => `${fill(`--${boundary}x\r\n`)}This is the mail`,
    ),
    'boundaries with spaces': text.replace(
      'This is the mail',
      () => `\r\n${fill(`--${boundary}${' '.repeat(2000)}x\r\n`)}This is the mail`,
    ),
    'parts without end': text.replace(
      'This is the mail',
      () => `${fill(`\r\n--${boundary}\r\n`)}This is the mail`,
    ),
    'nested mails': text.replace(
      'This is the mail',
      () => `${fill('Content-Type: message/rfc822\r\n\r\n')}This is the mail`,
    ),
    'a type of a part': inPart(`Content-Type: ${fill('a; ')}`),
    base64: encoded('base64', fill('QWN0aW9uOiBmYWlsZWQK')),
    'base64 of CRs': encoded('base64', `WDog${fill('DQ0N')}`),
    'quoted-printable': encoded('quoted-printable', fill('=41')),
    'quoted-printable of per cent': encoded('quoted-printable', fill('%=')),
    'a status of empty lines': inStatus(fill('\r\n')),
    'a status of groups': inStatus(fill('a: b\r\n\r\n')),
    'replies of unknown charsets': inStatus(
      fill(
        `Final-Recipient: rfc822; ${given.to}\r\nAction: failed\r\nStatus: 5.1.1\r\nDiagnostic-Code: smtp; ${fill('=?x?b?08o=?= ', 970)}\r\n\r\n`,
      ),
    ),
    'a status of recipients': inStatus(
      fill(`Final-Recipient: rfc822; ${given.to}\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n`),
    ),
    'a status of long recipients': inStatus(
      fill(`Final-Recipient: rfc822; ${'<'.repeat(900)}a@b>\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n`),
    ),
    'a diagnosis of codes': inStatus(`Diagnostic-Code: ${fill('550 5.')}`),
    'a folded diagnosis': inStatus(`Diagnostic-Code: a\r\n${fill(' 550 5.\r\n')} a`),
    colons: inStatus(fill(':')),
  }
}

/** A report as long as these, which nobody has made for that: it gives back a mail of common lines. */
export function harmlessReport(given: Returned): string {
  const form = FORMS['exim']
  const text = form(given)
  const line = 'Somebody has written a line of a mail as long as most lines of mails are.\r\n'
  return text.replace(/Hello(?=\r\n)/, () => fill(line))
}
