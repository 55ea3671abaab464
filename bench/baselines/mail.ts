import { createTransport } from 'nodemailer'
import { answerParent } from '../child.ts'
import { runLoop } from '../loop.ts'
import { addressOf, codeOf } from '../numbered-callbacks.ts'

/**
 * A bare pooled nodemailer loop that sends the same mail as the service: same subject, text and HTML, a code of its own
 * each. `composed`: nodemailer composes each mail; `raw`: it gets a finished message with its envelope.
 */
interface Mail {
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly raw: string
  /** The code that stands in for each mail's own. */
  readonly code: string
  readonly recipient: string
}

const transport = createTransport({
  pool: true,
  host: '127.0.0.1',
  port: Number(process.env['SMTP_PORT']),
  ignoreTLS: true,
  name: 'bench.example.com',
  maxConnections: Number(process.env['CONNECTIONS'] ?? 10),
  maxMessages: Number.POSITIVE_INFINITY,
})
const FROM = 'bounce@bench.example.com'

answerParent(async question => {
  const mail = question['mail'] as Mail
  let number = question['first'] as number
  const own = (text: string, of: number): string =>
    text.replaceAll(mail.code, codeOf(of)).replaceAll(mail.recipient, addressOf(of))
  const composed = async (): Promise<void> => {
    const of = number++
    await transport.sendMail({
      from: 'Bench <no-reply@bench.example.com>',
      to: addressOf(of),
      envelope: { from: FROM, to: addressOf(of) },
      subject: mail.subject,
      text: own(mail.text, of),
      html: own(mail.html, of),
      messageId: `<${of.toString(16).padStart(32, '0')}@bench.example.com>`,
      headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'OOF, AutoReply' },
    })
  }
  const raw = async (): Promise<void> => {
    const of = number++
    await transport.sendMail({ raw: own(mail.raw, of), envelope: { from: FROM, to: addressOf(of) } })
  }
  // Enough that no connection waits for the loop.
  const loop = await runLoop(50, question['seconds'] as number, question['how'] === 'raw' ? raw : composed)
  return { ...loop, last: number - 1 }
})
