import t from 'tap'
import { aliyun } from '../../../src/providers/aliyun.ts'
import type { MappedTemplate } from '../../../src/providers/sms-templates.ts'
import { enough, load } from '../../config/settings.ts'
import { inEnglish } from '../../language/english.ts'
import { checkCarrier, closesAll, isRecorded, mappedBy, templateSms as sms } from '../carrier.ts'
import { ALONE, SIGN_NAME, SIGNATURES, startAliyunServer, TEMPLATES, templatesOf } from './rig.ts'

const byAliyun = { ...enough, ...ALONE }

const login = { kind: 'login-code', region: 'mainland' } as const
const code: MappedTemplate = { ...login, template: 'SMS_1', params: { code: 'code' } }
const mappedTo = mappedBy(templatesOf(), 'aliyun')

const runCheck = checkCarrier(aliyun, startAliyunServer, url => ({ ...byAliyun, ALIYUN_API_URL: url }))

t.test('its settings make a provider', async t => {
  const { provider, server } = await runCheck(t, mappedTo([code]))
  t.match(await provider.send(sms(), new AbortController().signal), { is: 'sent' })
  await closesAll(t, provider, server)
})

t.test('check says of each signature and template whether it is approved, and fits', async t => {
  const { results } = await runCheck(
    t,
    mappedTo(
      [
        code,
        { ...code, template: 'SMS_2' },
        { ...code, template: 'SMS_2', region: 'abroad' },
        { ...code, template: 'SMS_3' },
        { ...code, template: 'SMS_9' },
        { ...code, params: { code: 'code', minute: 'minute' } },
        { ...code, params: ['code'] },
      ],
      ['待审科技', '没有'],
    ),
  )
  isRecorded(t, 'aliyun, each signature and template', results)
})

t.test('a delivery pauses for what the carrier says of a template or signature itself', async t => {
  const Reason = { RejectInfo: '名称与营业执照不符', RejectSubInfo: '请重新提交' }
  const state = { AuditStatus: 'AUDIT_STATE_NOT_PASS', BusinessType: '通用类型' }
  const refused = { SignName: '未过科技', ...state, Reason }
  const { provider } = await runCheck(t, mappedTo([code]), { signatures: [...SIGNATURES, refused] })
  const hindrances = [
    ['template', 'SMS_1', null],
    ['template', 'SMS_3', 'is under review'],
    ['template', 'SMS_9', undefined],
    ['sender', SIGN_NAME, null],
    ['sender', '待审科技', 'is under review'],
    ['sender', '未过科技', /^was refused, or is not filed with.*: 名称与营业执照不符, 请重新提交$/],
  ] as const
  for (const [scope, name, hindrance] of hindrances)
    t.match(inEnglish(await provider.findHindrance?.(scope, name)), hindrance, name)
})

t.test('of two signatures of one name the one that works counts; one may be for codes only', async t => {
  const works = { SignName: SIGN_NAME, AuditStatus: 'AUDIT_STATE_PASS', BusinessType: '通用类型' }
  const refused = { ...works, AuditStatus: 'AUDIT_STATE_NOT_PASS' }
  const forCodes = { ...works, SignName: '验证科技', BusinessType: '验证码类型' }
  const { results } = await runCheck(t, mappedTo([code], ['验证科技']), {
    signatures: [refused, works, forCodes],
  })
  isRecorded(t, 'aliyun, two signatures of one name', results)
})

t.test('reports come by the key of the Token, and by that of the one before it', async t => {
  const keysOf = async (tokens: Readonly<Record<string, string>>) =>
    (await aliyun.openReceipts?.(load({ ...byAliyun, ...tokens })))?.keys ?? []
  const [now, before] = ['a-token-of-today-0123456789', 'a-token-of-before-0123456789']
  t.same(await keysOf({ SMS_TOKEN: now, SMS_TOKEN_PREVIOUS: before }), [
    ...(await keysOf({ SMS_TOKEN: now })),
    ...(await keysOf({ SMS_TOKEN: before })),
  ])
  t.equal(await aliyun.openReceipts?.(load({ ...byAliyun, SMS_TOKEN: '' })), undefined, 'SMS is off')
})

t.test('a template that was cancelled, and one that only its outer type says is for abroad', async t => {
  const [plain] = TEMPLATES
  if (plain === undefined) throw new Error('there is one')
  const cancelled = { ...plain, TemplateCode: 'SMS_5', AuditStatus: 'AUDIT_SATE_CANCEL' }
  const abroad = { ...plain, TemplateCode: 'SMS_6', OuterTemplateType: 3 }
  const bare = { kind: 'device-offline', params: [] } as const
  const { results } = await runCheck(
    t,
    mappedTo([
      { ...bare, region: 'mainland', template: 'SMS_5' },
      { ...bare, region: 'abroad', template: 'SMS_6' },
    ]),
    { templates: [cancelled, abroad] },
  )
  isRecorded(t, 'aliyun, cancelled and abroad', results)
})

t.test('a key that may not ask, a wrong one, and no template', async t => {
  const blind = await runCheck(t, mappedTo([code]), {
    forbidden: ['QuerySmsSignList', 'QuerySmsTemplateList'],
  })
  isRecorded(t, 'aliyun, a key that may not ask', blind.results)
  const wrong = await runCheck(t, mappedTo([code]), {}, { ALIYUN_ACCESS_KEY_SECRET: 'canary-wrong' })
  t.notMatch(JSON.stringify(wrong.results), /canary/)
  isRecorded(t, 'aliyun, a wrong key', wrong.results)
  const away = await runCheck(t, mappedTo([code]), {}, { ALIYUN_API_URL: 'http://127.0.0.1:1' })
  isRecorded(t, 'aliyun, nobody there', away.results)
  const bare = await runCheck(t, mappedTo([]), {}, { PUBLIC_URL: 'https://courier.example.com' })
  isRecorded(t, 'aliyun, no template', bare.results)
})
