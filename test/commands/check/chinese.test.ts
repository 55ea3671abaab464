import t from 'tap'
import { englishIn } from '../../language/english.ts'
import { command, running, standInsFor } from '../rig.ts'

const CHINESE = { LANG: 'zh_CN.UTF-8' }

/** Each line of `check` in Chinese, without what the test made up. */
async function linesOf(env: Readonly<Record<string, string | undefined>>): Promise<readonly string[]> {
  const { out } = await command(['check'], { ...env, ...CHINESE })
  return out.split('\n').filter(line => line !== '')
}

t.test('check says in Chinese what works, for a service that runs', async t => {
  const { env, standIns } = await running(t, { ADMIN_TOKENS: 'a-password-of-this-test' })
  const lines = await linesOf(env)
  t.ok(lines.length > 15, lines.join('\n'))
  for (const line of lines)
    t.same(englishIn(line, ['ECONNREFUSED', 'example.com', 'tmpfs', 'overlay']), [], line)
  t.match(lines.at(-1), /^\d+ 项正常，\d+ 项需要注意，\d+ 项失败$/)
  t.match(
    lines.find(line => line.includes('已连接')),
    /^正常 {2}smtp {11}/,
  )
  standIns.setFault('email', 'later')
  const { out } = await command(['check', '--json'], { ...env, ...CHINESE })
  t.notMatch(out.replaceAll('示例科技', ''), /\p{Script=Han}/u, 'a program reads English')
  const { out: english } = await command(['check'], { ...env, LANG: 'de_DE.UTF-8' })
  t.match(english, /\d+ ok, \d+ to look at, \d+ failed/)
})

t.test('check says in Chinese what is wrong', async t => {
  const { env } = await standInsFor(t)
  const broken: readonly Readonly<Record<string, string | undefined>>[] = [
    {},
    { ...env, EMAIL_TOKEN: undefined, SMS_TOKEN: undefined },
    {
      ...env,
      PORT: '99999',
      TLS: 'perhaps',
      PUBLIC_URL: 'http://x',
      SMTP_URL: 'smtp://user:a/b@host',
      DATABASE_URL: 'x',
    },
    {
      ...env,
      ADMIN_HOST: '0.0.0.0',
      ADMIN_TOKENS: 'metrics/prometheus:aaaaaaaaaaaaaaaaaaaa',
      DKIM_NAME: 's1._domainkey.example.com',
    },
    {
      ...env,
      TLS: 'on',
      TLS_CERT_FILE: '/nowhere/cert.pem',
      TLS_KEY_FILE: '/',
      DKIM_KEY_FILE: '/nowhere/key',
    },
    {
      ...env,
      SMTP_URL: 'smtp://127.0.0.1:1',
      TWILIO_API_URL: 'http://127.0.0.1:1',
      PUBLIC_URL: 'https://127.0.0.1:1',
    },
    {
      ...env,
      EMAIL_TOKEN: 'short1',
      SMS_TOKEN: 'short1',
      ALLOWED_SOURCES: '0.0.0.0/0',
      SMS_COUNTRIES: '*',
      QUOTAS: 'sms-day=off sms-minute=off email-day=off email-minute=off',
    },
    { ...env, ALIYUN_ACCESS_KEY_ID: 'x', SMS_ROUTES: 'CN=aliyun,fax' },
    { ...env, DDQ_URL: 'http://ddq.example.com', ALERTS: 'offline * 0 -' },
  ]
  const made = 'connect ECONNREFUSED ENOENT EISDIR example.com tmpfs overlay topic product recipient'.split(
    ' ',
  )
  for (const settings of broken) {
    const lines = await linesOf(settings)
    t.ok(lines.length > 1)
    for (const line of lines) t.same(englishIn(line, made), [], line)
  }
})
