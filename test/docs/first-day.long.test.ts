import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { createCertificate } from '../../sandbox/certificate.ts'
import { loadStandIn } from '../../sandbox/stand-ins.ts'
import { createClock } from '../../src/runtime/clock.ts'
import { freePort } from '../rigs/free-port.ts'
import { until } from '../rigs/until.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (page: string) => readFileSync(join(ROOT, page), 'utf8')

/** A text of a page, which has to stand there: a page that changes changes this way. */
function standing(page: string, text: string): string {
  t.ok(read(page).includes(text), `${page}: ${text}`)
  return text
}

t.test('the way of the Chinese README without Docker: in eight steps a mail and an SMS', async t => {
  const readme = (text: string) => standing('README.zh-CN.md', text)
  const clock = createClock()
  const certificate = await createCertificate(clock.now())
  const [smtp, aliyun] = await Promise.all(
    ['smtp', 'aliyun'].map(async name =>
      (await loadStandIn(name)).start({ certificate, clock, changed() {} }),
    ),
  )
  if (smtp?.channel !== 'email' || aliyun?.channel !== 'sms') throw new Error('other stand-ins')
  t.teardown(() => Promise.all([smtp.close(), aliyun.close()]))

  // A fresh clone after `npm ci`.
  const cwd = t.testdir()
  for (const name of ['src', 'node_modules', 'package.json', '.env.example.zh-CN'])
    symlinkSync(join(ROOT, name), join(cwd, name))
  const env = { PATH: process.env['PATH'], HOME: cwd, LANG: 'zh_CN.UTF-8' }
  const alias = readme("alias courier='node_modules/.bin/node src/main.ts'")
  const shell = (line: string) => ['-O', 'expand_aliases', '-c', `${alias}\n${line}`]
  const run = async (line: string) => {
    const done = await promisify(execFile)('bash', shell(line), { cwd, env }).catch(
      (error: { code: number; stdout: string; stderr: string }) => error,
    )
    t.equal('code' in done ? done.code : 0, 0, `${line}\n${done.stdout}${done.stderr}`)
    return done.stdout
  }
  const fill = (given: Readonly<Record<string, string>>) => {
    const file = join(cwd, '.env')
    const left = Object.entries(given).reduce(
      (text, [name, value]) =>
        new RegExp(`^${name}=`, 'm').test(text)
          ? text.replace(new RegExp(`^${name}=.*$`, 'm'), () => `${name}=${value}`)
          : `${text}${name}=${value}\n`,
      readFileSync(file, 'utf8'),
    )
    writeFileSync(file, left)
  }
  const serve = async () => {
    const service = spawn('bash', shell(`exec ${alias.slice("alias courier='".length, -1)} serve`), {
      cwd,
      env,
    })
    t.teardown(() => service.kill('SIGKILL'))
    let log = ''
    service.stdout.on('data', data => (log += String(data)))
    service.stderr.on('data', data => (log += String(data)))
    await until(() => log.includes('"event":"started"') || service.exitCode !== null, `the start: ${log}`)
    t.match(log, '"event":"started"')
    return service
  }

  // 1. The settings. 2. A Token, for each of the secrets.
  await run(readme('cp .env.example.zh-CN .env && chmod 600 .env'))
  readme('不用 Docker：`courier token`')
  const [token = '', sms = '', password = ''] = await Promise.all(
    Array.from({ length: 3 }, () => run('courier token')),
  )
  // 3. The certificate: one of an authority of its own.
  mkdirSync(join(cwd, 'certs'))
  writeFileSync(join(cwd, readme('certs/fullchain.pem')), certificate.cert)
  writeFileSync(join(cwd, readme('certs/privkey.pem')), certificate.key, { mode: 0o400 })
  const [port, adminPort] = await Promise.all([freePort(), freePort()])
  fill({
    CORP_ID: '100fa4b2c3d4e5f7',
    EMAIL_TOKEN: token.trim(),
    PUBLIC_URL: `https://localhost:${port}`,
    TLS_CERT_FILE: 'certs/fullchain.pem',
    TLS_KEY_FILE: 'certs/privkey.pem',
    [readme('TLS_CA_FILE')]: 'certs/fullchain.pem',
    ADMIN_TOKENS: password.trim(),
    ...smtp.settings,
    MAIL_FROM: '示例科技 <no-reply@example.com>',
    HOST: '127.0.0.1',
    PORT: String(port),
    ADMIN_PORT: String(adminPort),
  })
  // 4. The start, and the check.
  readme('第一行换成 `courier serve`')
  const first = await serve()
  t.match(await run(readme('courier check')), /、0 项失败|，0 项失败/)
  // 5. A mail to oneself.
  const mail = await run(readme('courier send email --to you@example.com --type 5'))
  t.match(mail, /^发送 {2}HTTP 200 {2}err_code 0 /m)
  await until(() => smtp.mails().length > 0, 'the mail')
  t.match(smtp.mails()[0], { subject: '您的激活验证码', text: /您的验证码/ })
  // 6. What to paste.
  t.match(await run(readme('courier urls')), `https://localhost:${port}/callback/100fa4b2c3d4e5f7/`)
  // 7. SMS, with the file of the page, whose example has a template of another account.
  const [, file = ''] =
    /```yaml\n([\s\S]*?)```/.exec(read('docs/zh-CN/sms.md').split('## 模板文件')[1] ?? '') ?? []
  mkdirSync(join(cwd, 'templates'))
  writeFileSync(
    join(cwd, readme('templates/sms-templates.yaml')),
    file
      .replace('SMS_123456789', 'SMS_100000001')
      .replace(/^ {4}abroad:[\s\S]*?(?=^ {2}\w)/m, '')
      .replace(/^ {2}device-offline:[\s\S]*?(?=^\w)/m, ''),
  )
  const { SMS_TEMPLATES_FILE: _, ...account } = aliyun.settings
  fill({ SMS_TOKEN: sms.trim(), ...account, SMS_TEMPLATES_FILE: 'templates/sms-templates.yaml' })
  first.kill('SIGTERM')
  if (first.exitCode === null) await once(first, 'exit')
  const second = await serve()
  const checked = await run('courier check')
  t.match(checked, /，0 项失败/)
  t.notMatch(checked, '没有服务商能把', 'the example maps each kind of code')
  // 8. An SMS to oneself.
  t.match(
    await run(readme('courier send sms --to +8613800138000 --type 4')),
    /^发送 {2}HTTP 200 {2}err_code 0 /m,
  )
  await until(() => aliyun.sms().length > 0, 'the SMS')
  t.match(aliyun.sms()[0], { to: '+8613800138000', body: /^【示例科技】您的验证码为\d{6}/ })
  second.kill('SIGTERM')
  if (second.exitCode === null) await once(second, 'exit')
})
