import { readFileSync } from 'node:fs'

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

function returnedHeaders({ id, to }: Returned): string {
  return [
    'Received: from courier.example (courier.example [192.0.2.7])',
    '\tby mail.example.com with ESMTPS; Fri, 20 Nov 2026 09:00:00 +0000',
    'From: Example <no-reply@courier.example>',
    `To: ${to}`,
    'Subject: Activate your account',
    `Message-ID: <${id}@courier.example>`,
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

const mailPart = (given: Returned) =>
  `Content-Type: message/rfc822${CRLF}${CRLF}${returnedHeaders(given)}Hello`

const NAMES = ['postfix', 'exim', 'microsoft 365', 'gmail', 'ses', 'qq', '163', 'aliyun'] as const
/** The same servers when their queues gave up: no other server has answered, so that the status and the words are their own. */
const GAVE_UP_NAMES = ['postfix gave up', 'exim gave up', 'microsoft 365 gave up', 'gmail gave up'] as const

/** Each from a file of test/fixtures/bounces, where `{words|…}` has what that server says by itself. */
function readForms<Name extends string>(names: readonly Name[]) {
  const forms = names.map(name => {
    const file = new URL(`../fixtures/bounces/${name.replaceAll(' ', '-')}.eml`, import.meta.url)
    const text = readFileSync(file, 'utf8').replaceAll('\n', CRLF)
    const form = (given: Returned) => {
      const said: Readonly<Record<string, string | undefined>> = {
        ...given,
        class: given.status[0],
        reply: given.status.startsWith('4') ? '450' : '550',
      }
      return text.replaceAll(/\{(\w+)(?:\|(.*?))?\}/g, (_all, key: string, usual = '') => said[key] ?? usual)
    }
    return [name, form]
  })
  return Object.fromEntries(forms) as Readonly<Record<Name, (given: Returned) => string>>
}

export const FORMS = readForms(NAMES)
export const GAVE_UP = readForms(GAVE_UP_NAMES)

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

/** A mail that may come back: a code to an address that did is sent all the same. */
export const link = (to: string, n = 0) => ({
  to,
  subject: `Activate your account ${n}`,
  email_param: { type: 1, url: `https://www.example.com/activate?code=${n}`, hour: '24' },
})
