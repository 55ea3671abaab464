import { pino } from 'pino'
import t from 'tap'
import { openRenderer } from '../../src/service/factories.ts'
import { enough, load } from '../config/settings.ts'
import { messageOf } from '../words/rendering.ts'

const { render } = openRenderer(
  load({
    ...enough,
    BRAND_NAME: 'Northwind',
    PLUGIN_SENDERS: '{"p1": {"signature": "Plugin One", "from": "+15005550006"}}',
    SENDER_BY_COUNTRY: '{"BR": "Example"}',
    LOCALE_BY_COUNTRY: '{"BR": "zh-CN"}',
    WEBOTP_DOMAIN: 'app.example.com',
    MAIL_REPLY_TO: 'Help <help@example.com>',
  }),
  pino({ level: 'silent' }),
)

t.test('an SMS has the sender, signature, language and domain of the settings', async t => {
  const sent = (recipient: string, pluginId?: string) => {
    const content = {
      params: { code: '135790', minute: '10' },
      ...(pluginId !== undefined && { pluginId }),
    }
    const outgoing = render(messageOf('sms', 'login-code', content, { recipient }))
    return {
      ...outgoing,
      said: outgoing.channel === 'sms' && outgoing.text(),
    }
  }
  t.match(sent('+12025550123', 'p1'), {
    sender: { from: '+15005550006' },
    said: /^Plugin One: [^]*@app\.example\.com #135790$/,
  })
  t.match(sent('+5511961234567'), {
    sender: { from: 'Example' },
    said: /^【Northwind】登录验证码：135790/,
  })
})

t.test('a mail has the sender and the address for answers of the settings', async t => {
  const mail = render(messageOf('email', 'activation-code', { params: { code: '135790' } }))
  const raw = mail.channel === 'email' ? mail.raw.toString() : ''
  t.match(raw, /^From: "?Example"? <no-reply@example\.com>\r$/m)
  t.match(raw, /^Reply-To: "?Help"? <help@example\.com>\r$/m)
  t.match(raw, /^Message-ID: <[^@]+@example\.com>\r$/m)
})
