import { pino } from 'pino'
import t from 'tap'
import { openRenderer } from '../../src/service/factories.ts'
import { enough, load } from '../config/settings.ts'
import { messageOf, smsOf } from '../words/rendering.ts'

const settings = { ...enough, BRAND_NAME: 'Northwind', LOCALE: 'es' }
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
