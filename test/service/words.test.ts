import { pino } from 'pino'
import t from 'tap'
import { openRenderer } from '../../src/service/factories.ts'
import { enough, load } from '../config/settings.ts'
import { messageOf, rawOf, readMail, smsOf } from '../words/rendering.ts'

const settings = {
  ...enough,
  BRAND_NAME: 'Northwind',
  BRAND_URL: 'https://www.example.com',
  BRAND_COLOR: '0a7d55',
  LOCALE: 'es',
  MAIL_FROM: '"A, B \\C" <no-reply@mail.example.com>',
  MAIL_REPLY_TO: 'Help <help@example.com>',
}
const renderer = openRenderer(load(settings), pino({ level: 'silent' }))

t.test(
  'a mail has the sender, the address for answers, the language and the brand of the settings',
  async t => {
    const message = messageOf('email', 'activation-code', { params: { code: '135790' } })
    const { from, replyTo, messageId, text, html } = await readMail(rawOf(renderer, message))
    t.same(
      [from, replyTo, messageId],
      [
        { name: 'A, B \\C', address: 'no-reply@mail.example.com' },
        [{ name: 'Help', address: 'help@example.com' }],
        '<abcdef0123456789abcdef0123456789@mail.example.com>',
      ],
    )
    t.match(text, /^Su código de verificación\n[^]*\nEnviado por Northwind\nhttps:\/\/www\.example\.com\/\n/)
    t.match(html, '0a7d55')
    const bare = load({ ...settings, MAIL_FROM: 'no-reply@example.com', MAIL_REPLY_TO: '' })
    const raw = String(rawOf(openRenderer(bare, pino({ level: 'silent' })), message))
    t.match(raw, 'From: no-reply@example.com\r\n')
    t.notMatch(raw, 'Reply-To')
  },
)

t.test('words of the operator are in force, and what is wrong with them is logged', async t => {
  const words = JSON.stringify({ sms: { 'login-code': '{{ code }} abre {{ brand.name }}' } })
  const TEMPLATES_DIR = t.testdir({ 'stray.yaml': '', locales: { 'es.json': words } })
  const log: unknown[] = []
  const own = openRenderer(
    load({ ...settings, TEMPLATES_DIR, MAIL_FROM: '', EMAIL_TOKEN: '', SMTP_URL: '' }),
    pino({ base: null, timestamp: false }, { write: line => void log.push(JSON.parse(line)) }),
  )
  t.teardown(() => own.close())
  t.equal(
    smsOf(own, messageOf('sms', 'login-code', { params: { code: '135790', minute: '10' } })),
    '135790 abre Northwind',
  )
  const reason = 'is no name of a template, so nothing reads it'
  t.same(log, [
    { level: 40, event: 'templates', file: 'stray.yaml', reason, is: 'warning', msg: 'template problem' },
  ])
})
