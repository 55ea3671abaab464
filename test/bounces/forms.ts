/**
 * Reports of mails that came back, in the forms in which mail servers and mailbox providers send them. Written anew after public
 * collections and the servers' documentation; no mail in them is anybody's.
 */

/** The mail that came back, and why. */
export interface Returned {
  readonly id: string
  readonly to: string
  /** An enhanced status code. */
  readonly status: string
  /** The server's words behind its codes. */
  readonly words?: string
  readonly action?: string
}

const CRLF = '\r\n'

function returnedHeaders({ id, to }: Returned, messageId = `<${id}@courier.example>`): string {
  return [
    'Received: from courier.example (courier.example [192.0.2.7])',
    '\tby mail.example.com with ESMTPS; Fri, 20 Nov 2026 09:00:00 +0000',
    'From: Example <no-reply@courier.example>',
    `To: ${to}`,
    'Subject: Activate your account',
    `Message-ID: ${messageId}`,
    `X-Callback-Courier: ${id}`,
    'MIME-Version: 1.0',
    '',
    '',
  ].join(CRLF)
}

interface Layout {
  readonly human: string
  readonly humanType?: string
  /** The parts behind the human one, each with its header. */
  readonly parts: readonly string[]
  readonly headers?: readonly string[]
  readonly reportType?: string
  readonly boundary?: string
}

/** Puts a report together. */
export function compose(layout: Layout): string {
  const { human, parts, headers = [], boundary = '=_report_1f3870be' } = layout
  const humanPart = `Content-Type: ${layout.humanType ?? 'text/plain; charset=utf-8'}${CRLF}${CRLF}${human}`
  return [
    'Return-Path: <>',
    'From: Mail Delivery System <mailer-daemon@mail.example.com>',
    'To: bounces@courier.example',
    'Subject: =?gb18030?B?z7XNs83L0MU=?=',
    'Date: Fri, 20 Nov 2026 09:00:07 +0000',
    'Auto-Submitted: auto-replied',
    ...headers,
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=${layout.reportType ?? 'delivery-status'};`,
    `\tboundary="${boundary}"`,
    '',
    'This is a MIME-encapsulated message.',
    '',
    ...[humanPart, ...parts].flatMap(part => [`--${boundary}`, part, '']),
    `--${boundary}--`,
    '',
  ].join(CRLF)
}

const statusPart = (...lines: readonly string[]) =>
  ['Content-Type: message/delivery-status', '', ...lines].join(CRLF)
const headersPart = (given: Returned, messageId?: string) =>
  `Content-Type: text/rfc822-headers${CRLF}${CRLF}${returnedHeaders(given, messageId)}`
const mailPart = (given: Returned, messageId?: string) =>
  `Content-Type: message/rfc822${CRLF}${CRLF}${returnedHeaders(given, messageId)}Hello`

const reply = ({ status }: Returned) => (status.startsWith('4') ? 450 : 550)

export const FORMS: Readonly<Record<string, (given: Returned) => string>> = {
  postfix: given =>
    compose({
      human: `This is the mail system at host mail.example.com.${CRLF}${CRLF}<${given.to}>: host mx.example.net said: ${reply(given)}`,
      parts: [
        statusPart(
          'Reporting-MTA: dns; mail.example.com',
          `Original-Envelope-Id: ${given.id}`,
          'Arrival-Date: Fri, 20 Nov 2026 09:00:00 +0000 (UTC)',
          '',
          `Final-Recipient: rfc822; ${given.to}`,
          `Original-Recipient: rfc822;${given.to}`,
          `Action: ${given.action ?? 'failed'}`,
          `Status: ${given.status}`,
          'Remote-MTA: dns; mx.example.net',
          `Diagnostic-Code: smtp; ${reply(given)} ${given.status} <${given.to}>: ${given.words ?? 'Recipient`'}`,
          '    address rejected (in reply to RCPT TO command)',
        ),
        headersPart(given),
      ],
    }),
  exim: given =>
    compose({
      headers: [`X-Failed-Recipients: ${given.to}`],
      human: `A message that you sent could not be delivered to one or more of its recipients.${CRLF}${CRLF}  ${given.to}`,
      parts: [
        statusPart(
          'Reporting-MTA: dns; mail.example.com',
          '',
          `Action: ${given.action ?? 'failed'}`,
          `Final-Recipient: rfc822;${given.to}`,
          // Exim says no more than whether it is for good.
          `Status: ${given.status[0]}.0.0`,
          'Remote-MTA: dns; mx.example.net',
          `Diagnostic-Code: smtp; ${reply(given)}-${given.status} ${given.words ?? 'No such user here'}`,
          ` ${reply(given)} ${given.status} see the help`,
        ),
        mailPart(given),
      ],
    }),
  'microsoft 365': given =>
    compose({
      headers: [
        'X-MS-Exchange-Message-Is-Ndr:',
        `In-Reply-To: <${given.id}@courier.example>`,
        `References: <${given.id}@courier.example>`,
      ],
      humanType: 'text/html; charset=us-ascii',
      human: `<html><body>${'<p>Your message could not be delivered.</p>'.repeat(400)}</body></html>`,
      parts: [
        statusPart(
          'Reporting-MTA: dns;AS8PR01MB7001.eurprd01.prod.exchangelabs.com',
          'Arrival-Date: Fri, 20 Nov 2026 09:00:01 +0000',
          '',
          `Final-Recipient: rfc822;${given.to}`,
          `Action: ${given.action ?? 'failed'}`,
          `Status: ${given.status}`,
          `Diagnostic-Code: smtp;${reply(given)} ${given.status} ${given.words ?? 'RESOLVER.ADR.RecipientNotFound; Recipient not found'}`,
        ),
        headersPart(given),
      ],
    }),
  gmail: given =>
    compose({
      boundary: '000000000000ca2d9205f5a5444d',
      headers: [
        `X-Failed-Recipients: ${given.to}`,
        `In-Reply-To: <${given.id}@courier.example>`,
        `References: <${given.id}@courier.example>`,
      ],
      humanType: 'multipart/related; boundary="inner-1"',
      human: [
        '--inner-1',
        'Content-Type: multipart/alternative; boundary="inner-2"',
        '',
        '--inner-2',
        'Content-Type: text/plain; charset="UTF-8"',
        '',
        '** Address not found **',
        '--inner-2--',
        '--inner-1',
        'Content-Type: image/png; name="icon.png"',
        'Content-Disposition: attachment; filename="icon.png"',
        'Content-Transfer-Encoding: base64',
        'Content-ID: <icon.png>',
        '',
        'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
        '--inner-1--',
      ].join(CRLF),
      parts: [
        statusPart(
          'Reporting-MTA: dns; googlemail.com',
          'Arrival-Date: Fri, 20 Nov 2026 01:00:03 -0800 (PST)',
          'X-Original-Message-ID: <something@courier.example>',
          '',
          `Final-Recipient: rfc822; ${given.to}`,
          `Action: ${given.action ?? 'failed'}`,
          `Status: ${given.status}`,
          'Remote-MTA: dns; mx.example.net. (192.0.2.9, the server for the domain example.net.)',
          `Diagnostic-Code: smtp; ${reply(given)}-${given.status} ${given.words ?? 'The email account that you tried to reach does not exist.'}`,
          ` ${reply(given)} ${given.status}  https://support.google.com/mail/?p=NoSuchUser x1si1 - gsmtp`,
          'Last-Attempt-Date: Fri, 20 Nov 2026 01:00:04 -0800 (PST)',
        ),
        mailPart(given),
      ],
    }),
  ses: given =>
    compose({
      human: 'An error occurred while trying to deliver the mail to the following recipients:',
      parts: [
        statusPart(
          'Reporting-MTA: dns; a48-110.smtp-out.amazonses.com',
          '',
          `Action: ${given.action ?? 'failed'}`,
          `Final-Recipient: rfc822; ${given.to}`,
          `Diagnostic-Code: smtp; ${reply(given)} ${given.status} ${given.words ?? 'user unknown'}`,
          `Status: ${given.status}`,
        ),
        // SES puts a Message-ID of its own in the place of ours.
        mailPart(
          given,
          '<0101019300000000-1f3870be-0000-4000-8000-000000000000-000000@us-west-2.amazonses.com>',
        ),
      ],
    }),
  qq: given =>
    compose({
      humanType: 'text/html; charset=gb18030',
      human: '<div>\u00b1\u00a7\u00c7\u00b8</div>',
      parts: [
        statusPart(
          'Reporting-MTA: dns; mail.qq.com',
          '',
          `Final-Recipient: RFC822; ${given.to}`,
          `Action: ${given.action ?? 'failed'}`,
          `Status: ${given.status}`,
          'Remote-MTA: dns; mx3.qq.com',
          `Diagnostic-Code: SMTP; host mx3.qq.com said: ${reply(given)} ${given.words ?? 'Mailbox not found. http://service.mail.qq.com/cgi-bin/help?subtype=1'}`,
        ),
        headersPart(given),
      ],
    }),
  163: given =>
    compose({
      boundary: '----=_Part_163_1763629207',
      humanType: 'text/html; charset=GBK',
      human: '<div>\u00cf\u00b5\u00cd\u00b3\u00cd\u00cb\u00d0\u00c5</div>',
      parts: [
        statusPart(
          'Reporting-MTA: dns; m16.mail.163.com',
          'Arrival-Date: Fri, 20 Nov 2026 17:00:00 +0800 (CST)',
          '',
          `Final-Recipient: rfc822; ${given.to}`,
          `Action: ${given.action ?? 'Failed'}`,
          `Status: ${given.status[0]}.0.0`,
          `Diagnostic-Code: smtp; SMTP error, RCPT TO: ${reply(given)} ${given.status} ${given.words ?? 'User not found'}: ${given.to}`,
        ),
        mailPart(given),
      ],
    }),
  aliyun: given =>
    compose({
      human: '您发送的邮件被退回。',
      parts: [
        statusPart(
          'Reporting-MTA: dns; out30-1.freemail.mail.aliyun.com',
          `Original-Envelope-Id: ${given.id}`,
          `Final-Recipient: rfc822;<${given.to}>`,
          `Action: ${given.action ?? 'failed'}`,
          `Status: ${given.status} (${given.words ?? 'bad destination mailbox address'})`,
          `Diagnostic-Code: smtp; ${reply(given)} ${given.status} Mailbox not found`,
        ),
        headersPart(given),
      ],
    }),
}

/** A complaint in the form of RFC 5965, as Yahoo, Outlook.com and Comcast send it. */
export function complaint(
  given: Returned,
  more: { readonly type?: string; readonly to?: boolean } = {},
): string {
  return compose({
    reportType: 'feedback-report',
    human: 'This is an email abuse report.',
    parts: [
      [
        'Content-Type: message/feedback-report',
        '',
        `Feedback-Type: ${more.type ?? 'abuse'}`,
        'User-Agent: SomeGenerator/1.0',
        'Version: 1',
        ...(more.to === false ? [] : [`Original-Rcpt-To: <${given.to}>`]),
        'Arrival-Date: Fri, 20 Nov 2026 09:00:00 +0000',
      ].join(CRLF),
      mailPart(given),
    ],
  })
}
