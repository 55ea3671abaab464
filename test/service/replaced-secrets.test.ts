import t from 'tap'
import { mailBody, startRig, until } from '../rigs/service.ts'

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
  await rig.restart({ STORE_SECRET: third, STORE_SECRET_PREVIOUS: `${third}-2 ${set}`, SMTP_URL })
  await accept('cora@example.com')
  await until(() => rig.smtp.mails.length === 3, 'all are sent')
  t.same(rig.smtp.mails.flatMap(({ to }) => to).sort(), [
    'ann@example.com',
    'ben@example.com',
    'cora@example.com',
  ])
})
