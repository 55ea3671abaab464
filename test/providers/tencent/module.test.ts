import t from 'tap'
import type { MappedTemplate } from '../../../src/providers/sms-templates.ts'
import { tencent } from '../../../src/providers/tencent.ts'
import { enough } from '../../config/settings.ts'
import { checkCarrier, closesAll, isRecorded, mappedBy, templateSms as sms } from '../carrier.ts'
import { ALONE, refuse, SIGN_NAME, SIGNATURES, startTencentServer, TEMPLATES, templatesOf } from './rig.ts'

const byTencent = { ...enough, ...ALONE }

const login = { kind: 'login-code', region: 'mainland' } as const
const code: MappedTemplate = { ...login, template: '1110', params: ['code', 'minute'] }
const mappedTo = mappedBy(templatesOf(), 'tencent')

const runCheck = checkCarrier(tencent, startTencentServer, url => ({ ...byTencent, TENCENT_API_URL: url }))

t.test('its settings make a provider', async t => {
  const { provider, server } = await runCheck(t, mappedTo([code]), {}, { TENCENT_SMS_REGION: 'ap-beijing' })
  t.match(await provider.send(sms(), new AbortController().signal), { is: 'sent' })
  t.equal(server.standIn.requests.at(-1)?.headers['x-tc-region'], 'ap-beijing')
  await closesAll(t, provider, server)
})

t.test('check says of each signature and template whether it is approved and filed, and fits', async t => {
  const { results } = await runCheck(
    t,
    mappedTo(
      [
        code,
        { ...code, template: '1111', params: ['code'] },
        { ...code, template: '1112', params: ['code'] },
        { ...code, template: '1113', params: ['name'], kind: 'device-offline', region: 'abroad' },
        { ...code, params: ['code'] },
      ],
      ['待审科技', '未报备'],
    ),
  )
  isRecorded(t, 'tencent, each signature and template', results)
})

t.test('a signature and a template are found on whichever page they are', async t => {
  const many = <T extends object>(item: T) => Array.from({ length: 101 }, () => item)
  const signature = { SignId: 9, SignName: '其他', International: 0, StatusCode: 0 }
  const template = { TemplateId: 9, TemplateContent: '{1}', International: 0, StatusCode: 0 }
  // No time limit is for all pages together: one would be over at once.
  t.intercept(AbortSignal, 'timeout', { value: () => AbortSignal.abort() })
  const { results, server } = await runCheck(t, mappedTo([code]), {
    signatures: [...many(signature), ...SIGNATURES],
    templates: [...many(template), ...TEMPLATES],
  })
  t.match(results.slice(1, 3), [
    { about: `tencent signature ${SIGN_NAME}`, is: 'ok' },
    { about: 'tencent template 1110', is: 'ok' },
  ])
  const asked = server.standIn.requests.filter(({ action }) => action === 'DescribeSmsSignList')
  t.same(
    asked.map(({ params }) => Object.entries(params).join(' ')),
    [
      'International,0 Limit,1 Offset,0',
      ...[0, 50, 100].map(from => `International,0 Limit,50 Offset,${from}`),
      'International,1 Limit,50 Offset,0',
    ],
  )
  const rows = Array.from({ length: 50 }, () => ({}))
  const body = JSON.stringify({
    Response: { DescribeSignListStatusSet: rows, DescribeTemplateStatusSet: rows },
  })
  const endless = await runCheck(t, mappedTo([code]), {
    fault: () => ({ is: 'answer', status: 200, body }),
  })
  t.equal(endless.server.standIn.requests.length, 1 + 2 * 2 * 20, 'twenty pages of each part, no more')
})

t.test('without a signature only the mainland is sent nothing', async t => {
  const unsigned = { TENCENT_SMS_SIGN_NAME: '' }
  const abroad = { ...code, region: 'abroad' } as const
  const faultOf = async (...mapped: readonly MappedTemplate[]) =>
    (await runCheck(t, mappedTo(mapped), {}, unsigned)).results.find(
      ({ about }) => about === 'TENCENT_SMS_SIGN_NAME',
    )
  t.match(await faultOf(code), { is: 'fail', what: 'is missing' })
  t.equal(await faultOf(code, abroad), undefined)
})

t.test('an individual’s account may not ask; a wrong key says so alone', async t => {
  const blind = await runCheck(t, mappedTo([code]), { individual: true })
  isRecorded(t, 'tencent, an individual’s account', blind.results)
  const half = await runCheck(t, mappedTo([code]), {
    fault: ({ params }) => (params['International'] === 1 ? refuse('InternalError') : undefined),
  })
  isRecorded(t, 'tencent, half of the lists', half.results)
  for (const denied of ['AuthFailure.UnauthorizedOperation', 'UnauthorizedOperation.CamNoAuth']) {
    const { results } = await runCheck(t, mappedTo([code]), {
      fault: ({ action }) => (action === 'DescribeSmsSignList' ? refuse(denied) : undefined),
    })
    t.match(results[0], { is: 'ok', what: /may not list/ }, denied)
  }
  const wrong = await runCheck(t, mappedTo([code]), {}, { TENCENT_SECRET_KEY: 'canary-wrong' })
  isRecorded(t, 'tencent, a wrong key', wrong.results)
  const away = await runCheck(t, mappedTo([code]), {}, { TENCENT_API_URL: 'http://127.0.0.1:1' })
  isRecorded(t, 'tencent, nobody there', away.results)
})
