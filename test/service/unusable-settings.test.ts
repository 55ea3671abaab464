import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { startService } from '../../src/service/service.ts'
import { command } from '../commands/rig.ts'
import { LOGIN, SIGN_NAME } from '../providers/aliyun/rig.ts'
import { mailBody, type Settings, startRig, startSinks } from '../rigs/service.ts'

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
  t.ok(
    none.failures.some(each => /names no template of aliyun/.test(each)),
    'and check fails',
  )

  const file = join(t.testdir(), 'templates.json')
  const login = { mainland: { template: 'SMS_1', params: { code: 'code' } } }
  await writeFile(file, JSON.stringify({ aliyun: { 'login-code': login } }))
  const unsigned = await refusalsOf(t, { ...byAliyun, SMS_TEMPLATES_FILE: file })
  t.match(unsigned.refused, /ALIYUN_SMS_SIGN_NAME is missing: aliyun sends nothing without a signature/)

  const nowhere = await refusalsOf(t, { DEFAULT_AREA_CODE: '999' })
  t.match(nowhere.refused, /DEFAULT_AREA_CODE is no country calling code/)
  t.ok(
    nowhere.failures.some(each => each.startsWith('DEFAULT_AREA_CODE is no country')),
    'and check fails',
  )
})

t.test('a carrier without templates beside one that sends stops nothing', async t => {
  const { TWILIO_ACCOUNT_SID: _sid, TWILIO_AUTH_TOKEN: _token, TWILIO_FROM: _from, ...aliyun } = byAliyun
  const rig = await startRig(t, { ...aliyun, SMS_ROUTES: 'CN=aliyun,twilio' })
  t.equal((await fetch(`${rig.service().adminUrl}/readyz`)).status, 200)
})

t.test('a quota of 0 is refused; on a store of 1.0.0 it is borne and said until it is mended', async t => {
  const { refused, failures } = await refusalsOf(t, { QUOTAS: 'sms-day=0' })
  t.match(refused, /QUOTAS has a 0, which holds nothing back: set a number from 1, or off for no limit/)
  t.ok(
    failures.some(each => each.startsWith('QUOTAS has a 0')),
    'and check fails',
  )

  const rig = await startRig(t, { QUOTAS: 'sms-day=off' })
  await t.rejects(rig.restart({ QUOTAS: 'sms-day=0' }), /QUOTAS has a 0/, 'this version made the store')
  const db = new DatabaseSync(join(rig.directory, 'outbox.db'))
  db.exec("DELETE FROM meta WHERE key = 'made-from'")
  db.close()
  await rig.restart({ QUOTAS: 'sms-day=0' })
  t.ok(
    rig
      .events()
      .some(({ event, message }) => event === 'setting' && String(message).startsWith('QUOTAS has a 0')),
  )
  const { adminUrl } = rig.service()
  t.same(await (await fetch(`${adminUrl}/readyz`)).json(), { status: 'ready', degraded: ['quotas'] })
  const read = async (language: string) =>
    (await fetch(`${adminUrl}/console`, { headers: { 'accept-language': language } })).text()
  t.match(await read('en'), 'QUOTAS has a 0, which holds nothing back')
  t.match(await read('zh-CN'), 'QUOTAS 中有 0')
  t.equal((await rig.post('email', mailBody())).errCode, 0, 'and it serves')
})

t.test('a secret that is easy to guess is refused; on a store of 1.0.0 it is borne and said', async t => {
  const weak = { STORE_SECRET: 'a'.repeat(24) }
  const { refused, failures } = await refusalsOf(t, weak)
  t.match(
    refused,
    /STORE_SECRET repeats a few characters, or is one that guessers try: make one with `callback-courier token`, and keep this one in STORE_SECRET_PREVIOUS/,
  )
  t.ok(
    failures.some(each => each.startsWith('STORE_SECRET repeats')),
    'and check fails',
  )
  const rig = await startRig(t)
  await rig.service().close()
  const db = new DatabaseSync(join(rig.directory, 'outbox.db'))
  db.exec("DELETE FROM meta WHERE key = 'made-from'")
  db.close()
  await rig.restart({ ...weak, CALLBACK_KEYS: `email:${'b'.repeat(24)}` })
  const ready = await fetch(`${rig.service().adminUrl}/readyz`)
  t.same(await ready.json(), { status: 'ready', degraded: ['secrets'] })
  const console = await fetch(`${rig.service().adminUrl}/console`, {
    headers: { 'accept-language': 'zh-CN' },
  })
  t.match(await console.text(), 'STORE_SECRET 只重复几个字符')
  t.equal((await rig.post('email', mailBody())).errCode, 0, 'and it serves')
})
