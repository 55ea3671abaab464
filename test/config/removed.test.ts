import t from 'tap'
import { loadConfig } from '../../src/config/config.ts'
import { mailBody, startRig } from '../rigs/service.ts'

const enough = {
  CORP_ID: 'corp-1',
  EMAIL_TOKEN: 'a-token-long-enough-for-anybody',
  SMTP_URL: 'smtps://user:secret@smtp.example.com',
  MAIL_FROM: 'Example <no-reply@example.com>',
  TLS: 'off',
}
const removed = (env: Record<string, string>, dotenv = '') =>
  loadConfig({
    env: { ...enough, ...env },
    dotenvPath: '.env',
    readFile: () => dotenv,
  })

t.test('a removed setting is told by its own sentence, wherever it stands', t => {
  const { removed: found, warnings } = removed(
    { ADMIN_TOKEN: 'a-password-of-my-own', QUOTA_SMS_CARRIER_PER_DAY: 'twilio=500' },
    'SMS_COSTS=twilio:*=0.08\nQUOTA_SMS_COST_PER_DAY=200\n',
  )
  t.match(found, [
    {
      name: 'QUOTA_SMS_COST_PER_DAY',
      problem: /holds nothing back$/,
      remedy: /^set QUOTA_SMS_PER_DAY/,
      isBrake: true,
    },
    { name: 'QUOTA_SMS_CARRIER_PER_DAY', remedy: /QUOTA_SMS_COUNTRY_PER_DAY/, isBrake: true },
    { name: 'SMS_COSTS', remedy: /take it out/, isBrake: false },
  ])
  t.same(warnings, [], 'and not as an unknown one that resembles another')
  t.end()
})

t.test('a brake that was off is no brake that is gone; an empty setting is none', t => {
  t.match(removed({ QUOTA_SMS_COST_PER_DAY: '0' }).removed, [{ isBrake: false }])
  t.same(removed({ QUOTA_SMS_COST_PER_DAY: ' ' }).removed, [])
  t.same(removed({}).removed, [])
  t.end()
})

t.test(
  'a service that counts on a brake that is gone says so at start and at /readyz, and works',
  async t => {
    const rig = await startRig(t, {
      ADMIN_TOKEN: 'a-password-of-my-own',
      QUOTA_SMS_COST_PER_DAY: '200',
      SMS_COSTS: 'twilio:*=0.08',
    })
    const told = rig.events().filter(({ event }) => event === 'setting')
    t.match(
      told.map(({ message }) => message),
      [
        /^QUOTA_SMS_COST_PER_DAY is not read any more and holds nothing back/,
        /^SMS_COSTS is not read any more/,
      ],
    )
    const ready = await fetch(`${rig.service().adminUrl}/readyz`)
    t.equal(ready.status, 200)
    t.same(await ready.json(), { status: 'ready', degraded: ['quotas'] })
    t.equal((await rig.post('email', mailBody({}))).errCode, 0)
  },
)

t.test('what was removed and was no brake degrades nothing', async t => {
  const rig = await startRig(t, { SMS_COSTS: 'twilio:*=0.08', QUOTA_SMS_COST_PER_DAY: '0' })
  t.same(await (await fetch(`${rig.service().adminUrl}/readyz`)).json(), { status: 'ready', degraded: [] })
})

t.test('what set traces is told once a name, and degrades nothing', t => {
  const { removed: found } = removed({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4318',
    OTEL_SDK_DISABLED: 'true',
  })
  t.match(found, [
    {
      name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
      problem: /sends no traces$/,
      remedy: /^take it out/,
      isBrake: false,
    },
    { name: 'OTEL_SDK_DISABLED', isBrake: false },
  ])
  t.end()
})
