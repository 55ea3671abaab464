import fs from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { withProviders } from '../../src/service/sample-sms.ts'
import { startService } from '../../src/service/service.ts'
import { command } from '../commands/rig.ts'
import { enough, load } from '../config/settings.ts'
import { LOGIN, SIGN_NAME } from '../providers/aliyun/rig.ts'
import { type Settings, startSinks } from '../rigs/service.ts'

/** Starts the service, which must refuse, and asks `check` for the same. @returns what each says */
async function refusalsOf(t: Test, given: Settings) {
  const { settings } = await startSinks(t)
  const env = { ...settings, ...given }
  const refused = await startService(env).then(
    service => service.close().then(() => 'started'),
    (error: Error) => error.message,
  )
  const { code, out } = await command(['check', '--json'], env)
  const { findings } = JSON.parse(out) as {
    findings: { is: string; about: string; what: string; next?: string }[]
  }
  const failures = findings
    .filter(({ is }) => is === 'fail')
    .map(({ about, what, next }) => `${about} ${what}: ${next}`)
  return { refused, code, failures }
}

const byAliyun: Settings = {
  TWILIO_ACCOUNT_SID: '',
  TWILIO_AUTH_TOKEN: '',
  TWILIO_FROM: '',
  ALIYUN_ACCESS_KEY_ID: LOGIN.keyId,
  ALIYUN_ACCESS_KEY_SECRET: LOGIN.secret,
  ALIYUN_API_URL: 'http://127.0.0.1:9',
}

t.test('settings by which no SMS can be sent are refused', async t => {
  const none = await refusalsOf(t, { ...byAliyun, ALIYUN_SMS_SIGN_NAME: SIGN_NAME })
  t.match(none.refused, /SMS_TEMPLATES_FILE is missing: it names no template of aliyun/)
  t.match(none.failures.join(), /names no template of aliyun/, 'and check fails')

  const file = join(t.testdir(), 'templates.json')
  const login = { mainland: { template: 'SMS_1', params: { code: 'code' } } }
  await writeFile(file, JSON.stringify({ aliyun: { 'login-code': login } }))
  const unsigned = await refusalsOf(t, { ...byAliyun, SMS_TEMPLATES_FILE: file })
  t.match(unsigned.refused, /ALIYUN_SMS_SIGN_NAME is missing: aliyun sends nothing without a signature/)
})

t.test('a kind of code that no carrier can send is named by the start, by check and by send', async t => {
  const { settings } = await startSinks(t)
  const file = join(t.testdir(), 'templates.yaml')
  const code = '{ template: SMS_1, params: { code: code } }'
  await writeFile(file, `aliyun: { login-code: { mainland: ${code}, abroad: ${code} } }`)
  const env: Settings = {
    ...byAliyun,
    ...settings,
    ALIYUN_SMS_SIGN_NAME: SIGN_NAME,
    SMS_TEMPLATES_FILE: file,
    SMS_COUNTRIES: '*',
    SMS_ROUTES: 'CN=aliyun; US=twilio; FR=aliyun,twilio; *=aliyun',
  }
  const log: string[] = []
  const service = await startService(env, { log: { write: line => log.push(line) } })
  t.teardown(() => service.close())
  const why = 'aliyun: no template for registration-code'
  const kinds = 'no carrier can send registration-code, forgotten-password, phone-update'
  const named = [`${kinds} to CN: ${why} in China`, `${kinds} to *: ${why} outside China`]
  t.same(
    log.flatMap(line => /(?<=SMS_TEMPLATES_FILE: )no carrier[^"]*/.exec(line)?.[0] ?? []),
    named,
  )
  // A carrier that is alone needs no routes, and home is where an SMS goes unless countries are listed.
  const { out } = await command(['check', '--json'], {
    ...env,
    ...byAliyun,
    SMS_ROUTES: '',
    SMS_COUNTRIES: '',
  })
  const { findings } = JSON.parse(out) as { findings: { is: string; about: string; what: string }[] }
  const warned = findings.filter(({ is, about }) => is === 'warn' && about === 'SMS_TEMPLATES_FILE')
  t.same(
    warned.map(({ what }) => what),
    named.slice(0, 1),
  )
  const argv = ['send', 'sms', '--to', '+8613800138000', '--insecure', '--base', service.publicUrl]
  const send = async (type: string) => (await command([...argv, '--type', type], env)).err
  t.match(await send('1'), /^no carrier can send registration-code to CN: .*\nno carrier .* to \*: .*\n$/)
  t.equal(await send('4'), '')
})

t.test('what is looked at is open until the look is over, and then closed', async t => {
  const steps: unknown[] = []
  const written = t.capture(fs, 'write', fs.write)
  await withProviders(load({ ...enough, LOCALE: 'tlh' }), async ({ renderer, templates, providers }) => {
    for (const [name, each] of Object.entries([renderer, templates, ...providers]))
      t.capture(each as { close(): void }, 'close', () => void steps.push(name))
    await new Promise(setImmediate)
    steps.push('looked at', ...written().map(({ args }) => args[1]))
  })
  t.same(steps, ['looked at', '1', '0', '2', '3'])
})
