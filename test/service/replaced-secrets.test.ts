import t from 'tap'
import { EMAIL_TOKEN, mailBody, SMS_TOKEN, startRig, until } from '../rigs/service.ts'

const CHANNELS = ['email', 'sms'] as const
const NEW = { email: EMAIL_TOKEN, sms: SMS_TOKEN }
const OLD = { email: 'anOldEmailTokenOfGoodLength', sms: 'anOldSmsTokenOfGoodLength' }

t.test(
  'while a Token is replaced its predecessor signs, and its URL is served; afterwards neither',
  async t => {
    const rig = await startRig(t, {}, {})
    await rig.restart({ EMAIL_TOKEN: OLD.email, SMS_TOKEN: OLD.sms })
    const former = { email: rig.path('email'), sms: rig.path('sms') }
    const previous = { EMAIL_TOKEN_PREVIOUS: OLD.email, SMS_TOKEN_PREVIOUS: OLD.sms }
    for (const [settings, status] of [
      [previous, 200],
      [{}, 403],
    ] as const) {
      await rig.restart(settings)
      for (const channel of CHANNELS) {
        for (const [path, token] of [
          [former[channel], OLD[channel]],
          [former[channel], NEW[channel]],
          [rig.path(channel), OLD[channel]],
        ])
          t.match(
            await rig.ask(`${path}?${rig.sign(channel, undefined, token)}`),
            { status },
            `${path} ${token}`,
          )
        t.equal((await rig.validate(channel)).status, 200, 'the new one by the new URL')
      }
    }
  },
)

t.test('what waits under a secret that was made, and one that was set, is sent under a third', async t => {
  const away = { SMTP_URL: 'smtp://127.0.0.1:9?ignoreTLS=true', ANSWER_WITHIN_MS: '200', STORE_SECRET: '' }
  const rig = await startRig(t, away)
  const set = 'a-store-secret-that-was-set-first'
  const accept = async (to: string) =>
    t.match(await rig.post('email', mailBody({ to }, { type: 5, code: '482913' })), { errCode: 0 })
  await accept('ann@example.com')
  await rig.restart({ STORE_SECRET: set })
  await accept('ben@example.com')
  const { STORE_SECRET: third = '', SMTP_URL = '' } = rig.settings
  await rig.restart({ STORE_SECRET: third, STORE_SECRET_PREVIOUS: set, SMTP_URL })
  await accept('cora@example.com')
  await until(() => rig.smtp.mails.length === 3, 'all are sent')
  t.same(rig.smtp.mails.flatMap(({ to }) => to).sort(), [
    'ann@example.com',
    'ben@example.com',
    'cora@example.com',
  ])
})
