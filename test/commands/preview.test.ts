import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { enough } from '../config/settings.ts'
import { command } from './rig.ts'

t.test('writes what people get to read, and says where', async t => {
  const folder = t.testdir()
  const out = join(folder, 'of/several/gallery')
  const { code, out: said } = await command(['preview', '--out', out], enough)
  t.equal(code, 0, said)
  t.match(said, out)
  t.match(readFileSync(join(out, 'mail/phone-change.en.html'), 'utf8'), '<html')
  t.match(readFileSync(join(out, 'sms/login-code.zh-CN.txt'), 'utf8'), 'Example')
  const unwritable = await command(['preview', '--out', '/dev/null/shown'], enough)
  t.match(unwritable, { code: 1, err: /^ENOTDIR: .*\n$/ }, 'a folder that cannot be made is said in a line')
})

t.test('one language, when asked for, and none that there is not', async t => {
  const out = t.testdir()
  t.equal((await command(['preview', '--out', out, '--locale', 'zh-CN'], enough)).code, 0)
  const mails = readdirSync(join(out, 'mail')).filter(name => name.endsWith('.html'))
  t.ok(mails.length > 0 && mails.every(name => name.endsWith('.zh-CN.html')))
  const { code, err } = await command(['preview', '--out', out, '--locale', 'tlh'], enough)
  t.equal(code, 2)
  t.match(err, /there is no tlh: there are .*zh-CN/)
})

t.test('tries the templates, and says file and reason', async t => {
  const folder = t.testdir({ messages: {} })
  writeFileSync(join(folder, 'messages/phone-change.html'), '<p>{{ code }</p>')
  const asked = ['preview', '--locale', 'en', '--out', join(folder, 'shown')]
  const { code, out } = await command(asked, { ...enough, TEMPLATES_DIR: folder })
  t.equal(code, 1)
  t.match(out, /^fail {2}templates {7}messages\/phone-change\.html/m)
  t.equal((await command(['preview'], enough)).code, 2, 'nothing was asked for')
})

t.test(
  'says what each SMS carrier would send: a template with its values, the text, or why nothing',
  async t => {
    const folder = t.testdir({
      'templates.yaml':
        'aliyun: { login-code: { mainland: { template: SMS_77, signature: 云, params: { code: code } } } }',
    })
    const out = join(folder, 'gallery')
    const { code, err } = await command(['preview', '--out', out], {
      ...enough,
      ALIYUN_ACCESS_KEY_ID: 'LTAI5tExampleKeyId000001',
      ALIYUN_ACCESS_KEY_SECRET: 'aliyun-secret',
      ALIYUN_SMS_SIGN_NAME: '示例',
      SMS_ROUTES: 'CN=aliyun,twilio; *=twilio',
      SMS_MAX_SEGMENTS: '1',
      LOCALE_BY_COUNTRY: '{"CN": "zh-CN"}',
      SMS_TEMPLATES_FILE: join(folder, 'templates.yaml'),
    })
    t.equal(code, 0, err)
    const record = readFileSync(join(import.meta.dirname, '../fixtures/preview-carriers.txt'), 'utf8')
    t.equal(readFileSync(join(out, 'sms-carriers.txt'), 'utf8'), record)
  },
)

t.test('of a gateway that sends no text it shows the request, and no secret', async t => {
  const json = '{"key": "{{ secrets.key }}", "to": "{{ number }}", "code": "{{ params.code }}"}'
  const request = { url: 'https://sms.example.com/send', json }
  const settings = {
    ...enough,
    SMS_GATEWAYS: JSON.stringify({ mine: { request } }),
    SMS_GATEWAY_SECRETS: '{"key": "canary-51d0"}',
    SMS_ROUTES: 'CN=mine',
  }
  const { code, err } = await command(['preview', '--locale', 'en', '--out', t.testdir()], settings)
  t.equal(code, 0, err)
  const lines = readFileSync(join(t.testdirName, 'sms-carriers.txt'), 'utf8')
  t.match(
    lines,
    /CN {2}login-code {2}mine {2}request POST https:\/\/sms\.example\.com\/send \{"key": ?"secrets\.key", ?"to": ?"8613800138000", ?"code": ?"\d+"\}/,
  )
  t.notMatch(lines, /canary-51d0|^abroad/m, 'no route leads abroad')
})
