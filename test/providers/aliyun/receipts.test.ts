import t from 'tap'
import { reportOf } from '../../../sandbox/carriers/aliyun.ts'
import { term } from '../../../src/language/sentence.ts'
import published from '../../../src/providers/aliyun.codes.json' with { type: 'json' }
import { aliyun } from '../../../src/providers/aliyun.ts'
import { type CarrierReport, receiptKeys } from '../../../src/providers/receipts.ts'
import { englishIn } from '../../language/english.ts'
import { openReports } from '../carrier.ts'
import { ALONE } from './rig.ts'

const ID = 'b'.repeat(32)
const { config, source, parse } = await openReports(aliyun, ALONE)
const message = {
  bizId: '9006197469364984400',
  outId: ID,
  phoneNumber: '13711112222',
  signName: 'x',
  templateCode: 'SMS_1',
  body: '',
  at: 0,
}

t.test('where reports come, and what Aliyun wants to read', async t => {
  t.match(source, {
    path: '/receipt/aliyun',
    keys: receiptKeys('aliyun', config),
    format: 'json',
    taken: { code: 0 },
  })
})

t.test('reports in one request, in any order', async t => {
  const codes = ['DELIVERED', 'MOBILE_NOT_ON_SERVICE', 'REQUEST_SUCCESS']
  const recipient = { verdict: 'recipient', scope: 'recipient' }
  const about = { providerId: message.bizId, id: ID }
  t.match(parse(codes.map(code => reportOf(message, code))), [
    { ...about, status: 'delivered', errorCode: null, fault: undefined },
    { ...about, status: 'undelivered', errorCode: 'MOBILE_NOT_ON_SERVICE', fault: recipient },
    { ...about, status: 'sent', errorCode: 'REQUEST_SUCCESS', fault: { verdict: 'ambiguous' } },
  ])
})

t.test('a report that says both that it arrived and that it did not says nothing of the number', async t => {
  const contrary = { biz_id: 'b1', success: false, err_code: 'DELIVERED' }
  const fault = { verdict: 'later', scope: 'message', reason: null }
  t.match(parse([contrary]), [{ status: 'undelivered', errorCode: 'DELIVERED', fault }])
})

t.test('the words of a report and its time are kept, in both forms', async t => {
  const failed = { success: false, err_code: 'MK:0001', err_msg: '手机关机，尾号 13711112222' }
  const mainland = { biz_id: 'b1', out_id: ID, ...failed }
  const words = 'phone is off'
  const abroad = { MessageId: 'm1', TaskId: ID, Status: '2', ErrorCode: '5', ErrorDescription: words }
  t.match(
    parse([
      { ...mainland, report_time: '2026-11-21 10:04:05' },
      { ...mainland, success: true, err_code: 'DELIVERED', report_time: '2026-11-21 10:04:06' },
      { ...abroad, ReceiveDate: 'Sat, 21 Nov 2026 10:04:07 +0800' },
      { ...abroad, Status: '1', ReceiveDate: '' },
    ]),
    [
      { status: 'undelivered', reply: '手机关机，尾号 …', happenedAt: Date.parse('2026-11-21T02:04:05Z') },
      { status: 'delivered', reply: undefined, happenedAt: Date.parse('2026-11-21T02:04:06Z') },
      {
        providerId: 'm1',
        id: ID,
        errorCode: '5',
        status: 'undelivered',
        reply: 'phone is off',
        happenedAt: Date.parse('2026-11-21T02:04:07Z'),
      },
      { status: 'delivered', errorCode: null, happenedAt: undefined },
    ],
  )
})

t.test(
  'every published code of a report makes a status and a fault, which both languages have words for',
  async t => {
    for (const { code, verdict, scope, en } of published.receipt) {
      const [receipt] = parse([reportOf(message, code)]) as readonly CarrierReport[]
      const expected = verdict === 'ok' ? 'delivered' : verdict === 'ambiguous' ? 'sent' : 'undelivered'
      t.match(receipt, { status: expected }, code)
      if (verdict === 'ok') continue
      t.same(receipt?.fault, { verdict, scope, reason: en }, code)
      t.same(englishIn(term(en).in('zh-CN')), [], code)
    }
  },
)

t.test('what is none is nothing', async t => {
  for (const body of [null, 'x', 7, {}, [null, 1, 'x', [], {}], [{ success: true }], [{ biz_id: {} }]])
    t.same(parse(body), [])
  t.match(parse([{ biz_id: 7, out_id: '../x', success: 'yes', err_code: [] }]), [
    { providerId: '7', id: undefined, status: 'undelivered', errorCode: null },
  ])
})
