import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { tell } from '../../src/language/sentence.ts'
import { parseGateways } from '../../src/providers/http-gateway/definition.ts'
import { openSmsTemplateFile, parseSmsTemplates } from '../../src/providers/sms-template-file.ts'
import { tellYamlFault, type YamlFault } from '../../src/runtime/yaml-text.ts'
import { inEnglish } from '../language/english.ts'
import { until } from '../rigs/until.ts'
import { outgoingSms } from './sms.ts'

const KNOWN = {
  carriers: ['aliyun', 'tencent', 'twilio'],
  kinds: new Map([
    ['login-code', ['code', 'minute']],
    ['device-offline', ['device']],
  ]),
}
const FILE = `
# codes
aliyun:
  login-code: &code
    mainland: { template: SMS_123, signature: 示例, params: { code: code } }
    abroad:
      en: { template: SMS_1, params: { c: code, m: minute } }
      en-AU: { template: SMS_4, signature: 示例, params: { c: code } }
      zh: { template: SMS_2, params: { c: code } }
      "*": { template: SMS_3, params: { c: code } }
  device-offline:
    abroad:
      en: { template: SMS_5 }
tencent:
  login-code:
    mainland: { template: 1110, params: [code, minute] }
  device-offline:
    abroad: { template: "77" }
`

const filled = { params: { code: '123456', minute: '10' } }
const china = { country: 'CN', to: '+8613711112222', locale: 'zh-CN', ...filled }

const open = (t: Test, text: string) => {
  const path = join(t.testdir({ 'templates.yaml': text }), 'templates.yaml')
  const changes: (readonly YamlFault[])[] = []
  const file = openSmsTemplateFile({
    ...KNOWN,
    path,
    pluginSenders: new Map([
      ['p1', { signatures: { aliyun: '插件', tencent: '插件二' } }],
      ['p2', { signature: 'Plugin' }],
    ]),
    onChange: faults => changes.push(faults),
    pollEveryMs: 5,
  })
  t.teardown(() => file.close())
  /** The template of a code to China, unless `more` says otherwise. */
  const use = (carrier: string, more = {}) => file.templateFor(carrier, outgoingSms({ ...china, ...more }))
  return { file, path, changes, use }
}

t.test('a message finds its template by carrier, kind, country and language, and fills it', async t => {
  const { file, use } = open(t, FILE)
  t.same(file.faults(), [])
  t.same(use('aliyun'), { template: 'SMS_123', signature: '示例', params: { code: '123456' } })
  t.same(use('tencent'), { template: '1110', params: ['123456', '10'] })
  const english = { template: 'SMS_1', params: { c: '123456', m: '10' } }
  t.same(use('aliyun', { country: 'DE', locale: 'en-GB' }), english)
  t.match(use('aliyun', { country: 'AU', locale: 'en-AU' }), { template: 'SMS_4' })
  t.match(use('aliyun', { country: 'HK', locale: 'zh-TW' }), { template: 'SMS_2' })
  t.match(use('aliyun', { country: 'DE', locale: 'es' }), { template: 'SMS_3' })
  const abroad = { country: 'DE', kind: 'device-offline', params: {} }
  t.same(use('tencent', abroad), { template: '77', params: [] })
})

t.test('what has no template says why, without what the message says', async t => {
  const { use: why } = open(t, FILE)
  t.same(inEnglish(why('twilio')), { why: 'no template for login-code in China' })
  t.same(inEnglish(why('tencent', { country: 'DE' })), { why: 'no template for login-code outside China' })
  t.same(inEnglish(why('aliyun', { kind: 'plain' })), { why: 'no template for plain in China' })
  t.same(inEnglish(why('aliyun', { country: 'DE', kind: 'device-offline', locale: 'es' })), {
    why: 'no template for device-offline outside China in the language es',
  })
  for (const params of [{ minute: '10' }, { code: '', minute: '10' }])
    t.same(inEnglish(why('aliyun', { params })), {
      why: 'its template says code, which the message does not have',
    })
})

t.test('the signature of a plugin comes before that of the template', async t => {
  const { file, use } = open(t, FILE)
  const of = (carrier: string, pluginId: string) => use(carrier, { pluginId })
  t.match(of('aliyun', 'p1'), { signature: '插件' })
  t.match(of('tencent', 'p1'), { signature: '插件二' })
  t.match(of('aliyun', 'p2'), { signature: '示例' })
  t.notOk('signature' in of('tencent', 'p2'))
  t.same(file.signatures('aliyun'), ['插件', '示例'])
  t.same(file.signatures('twilio'), [])
  t.match(file.mapped('tencent'), [
    { kind: 'login-code', region: 'mainland', template: '1110', params: ['code', 'minute'] },
    { kind: 'device-offline', region: 'abroad', template: '77', params: [] },
  ])
})

t.test('a fault names its line, and quotes no value', async t => {
  const faults = (text: string) => parseSmsTemplates(text, KNOWN).faults
  const cases: readonly (readonly [string, number, RegExp])[] = [
    ['aliyun: [', 1, /^is neither JSON nor YAML/],
    ['aliyun:\n  login-code: \uFFFD', 2, /^is not UTF-8: save the file as UTF-8$/],
    ['aliyun:\n  login-code: {}\naliyun: {}', 3, /^is neither JSON nor YAML/],
    ['- a', 1, /the file must be object/],
    [
      'aliyun:\n  login-code:\n    mainland:\n      template: {}',
      4,
      /aliyun\/login-code\/mainland\/template/,
    ],
    ['aliyun:\n  login-code:\n    china: { template: a }', 3, /additional propert/],
    ['aliyun:\n  login-code:\n    mainland: { template: a, secret: canary }', 3, /additional propert/],
    [
      'aliyun: {}\nvonage:\n  login-code:\n    abroad: { template: a }',
      4,
      /names a carrier that there is not/,
    ],
    ['aliyun:\n  log-in:\n    abroad: { template: a }', 3, /names a kind that there is not/],
    [
      'aliyun:\n  login-code:\n    abroad: { template: a, params: [canary] }',
      3,
      /parameter that the kind does not have/,
    ],
    [
      'aliyun:\n  login-code:\n    abroad:\n      canary-zz-: { template: a }',
      3,
      /a language that there is not/,
    ],
    ['aliyun:\n  login-code:\n    abroad:\n      zh-cn: { template: a }', 3, /a language that there is not/],
    ['a: &a [*a]', 1, /./],
  ]
  const kinds = ['log-in', 'log-out'].map(kind => `  ${kind}:\n    abroad: { template: a }`)
  t.same(
    faults(`aliyun:\n${kinds.join('\n')}`).map(({ line }) => line),
    [3, 5],
    'each of them',
  )
  for (const [text, line, reason] of cases) {
    const [first] = faults(text)
    t.match(first?.reason, reason, text)
    t.equal(first?.line, line, text)
    t.notMatch(first?.reason, /canary/)
  }
  t.same(parseSmsTemplates('{"aliyun":{"login-code":{"abroad":{"template":"a"}}}}', KNOWN), {
    templates: [{ carrier: 'aliyun', kind: 'login-code', region: 'abroad', template: 'a', params: [] }],
    faults: [],
  })
})

t.test('a changed file is read again; a bad one leaves the last good one in force', async t => {
  const { file, path, changes, use } = open(t, FILE)
  const change = async (text: string) => {
    const before = changes.length
    writeFileSync(path, text)
    await until(() => changes.length > before, 'the change')
  }
  await change(FILE.replace('SMS_123', 'SMS_4567'))
  t.match(use('aliyun'), { template: 'SMS_4567' })
  await change('aliyun: [')
  t.match(use('aliyun'), { template: 'SMS_4567' })
  t.match(file.faults(), [{ line: 1 }])
  await change(FILE)
  t.match(use('aliyun'), { template: 'SMS_123' })
  t.same(file.faults(), [])
  t.match(changes, [[], [{ line: 1 }], []])
})

t.test('a file that is not there is a fault', async t => {
  const file = openSmsTemplateFile({ ...KNOWN, path: '/nowhere/x.yaml', pluginSenders: new Map() })
  const [fault] = file.faults()
  t.match(fault, { line: 0, reason: /^\/nowhere\/x.yaml cannot be read \(ENOENT\): it is not there/ })
  t.match(fault && tell(fault.reason).in('zh-CN'), /^\/nowhere\/x.yaml：无法读取（ENOENT）：文件不存在/)
  file.close()
})

t.test('in Chinese a fault of a file says what is right there', async t => {
  const login = (text: string) => `aliyun:\n  login-code:\n    mainland: ${text}`
  for (const [text, chinese] of [
    [
      'aliyun：\n  a: 1',
      '第 1 行：既不是 JSON，也不是 YAML：这一行没有半角冒号加空格“: ”，可能写成了全角冒号“：”（MULTILINE_IMPLICIT_KEY）',
    ],
    ['- a', '第 1 行：整个文件：类型不对，应为一组“名称: 值”'],
    [login('{ template: a, extra: b }'), '第 3 行：aliyun/login-code/mainland：有未知的项“extra”'],
    [login('{ template: [a] }'), '第 3 行：aliyun/login-code/mainland/template：类型不对，应为文本或整数'],
    [login('{ en: { params: [] } }'), '第 3 行：aliyun/login-code/mainland/en：缺少 template'],
    [login('{ template: "" }'), '第 3 行：aliyun/login-code/mainland/template：太短，至少 1 个字符'],
  ] as const) {
    const [fault, ...more] = parseSmsTemplates(text, KNOWN).faults
    t.same([fault && tellYamlFault(fault).in('zh-CN'), more], [chinese, []])
  }
  for (const [text, chinese] of [
    ['g:\n  request: { url: a, method: FETCH }', '第 2 行：g/request/method：必须是以下之一：GET, POST, PUT'],
    ['g:\n  request: { url: a, form: {}, json: a }', '第 2 行：g/request：form、json、xml 只能写其中一项'],
    ['G:\n  request: { url: a }', '第 1 行：整个文件：“G”格式不对，应匹配 ^[a-z][a-z0-9-]{0,30}$'],
    ['g:\n  request: { url: a }\n  limits: { seconds: 99 }', '第 3 行：g/limits/seconds：太大，最大为 60'],
  ] as const) {
    const read = parseGateways(text)
    t.equal('fault' in read && tell(read.fault).in('zh-CN'), chinese)
  }
})
