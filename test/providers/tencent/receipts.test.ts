import t from 'tap'
import { reportOf } from '../../../sandbox/carriers/tencent.ts'
import { term } from '../../../src/language/sentence.ts'
import { type CarrierReport, receiptKeys } from '../../../src/providers/receipts.ts'
import published from '../../../src/providers/tencent.codes.json' with { type: 'json' }
import { tencent } from '../../../src/providers/tencent.ts'
import { englishIn } from '../../language/english.ts'
import { openReports } from '../carrier.ts'
import { ALONE } from './rig.ts'

const ID = 'b'.repeat(32)
const { config, source, parse } = await openReports(tencent, ALONE)
const message = {
  serialNo: '5000:1045710669157053657849499619',
  sessionContext: ID,
  phoneNumber: '+8613711112222',
  signName: 'x',
  templateId: '1110',
  body: '',
  at: 0,
}

t.test('where reports come, and what Tencent wants to read', async t => {
  t.match(source, {
    path: '/receipt/tencent',
    keys: receiptKeys('tencent', config),
    format: 'json',
    taken: { result: 0, errmsg: 'OK' },
  })
})

t.test('reports in one request, with our id or without', async t => {
  t.match(parse([reportOf(message, 'DELIVRD', true), reportOf(message, 'MI:0022')]), [
    { providerId: message.serialNo, id: ID, status: 'delivered', errorCode: null },
    {
      providerId: message.serialNo,
      id: undefined,
      status: 'undelivered',
      errorCode: 'MI:0022',
      fault: { verdict: 'later', scope: 'transport' },
    },
  ])
})

t.test('the words of a report and its time are kept', async t => {
  const report = { sid: 's1', report_status: 'FAIL', errmsg: 'MK:0001', description: '空号' }
  t.match(
    parse([
      { ...report, user_receive_time: '2026-11-21 10:04:05' },
      { ...report, report_status: 'SUCCESS', user_receive_time: '' },
    ]),
    [
      { status: 'undelivered', reply: '空号', happenedAt: Date.parse('2026-11-21T02:04:05Z') },
      { status: 'delivered', reply: undefined, happenedAt: undefined },
    ],
  )
})

t.test('every published code of a report makes a status, and is kept as it is', async t => {
  const codes = published.receipt.groups.flatMap(group => group.codes.map(code => [code, group] as const))
  t.ok(codes.length > 200)
  for (const [code, { verdict, scope, en }] of codes) {
    t.ok(Object.hasOwn(published.verdicts, verdict), code)
    const delivered = verdict === 'ok'
    const [receipt] = parse([reportOf(message, code)]) as readonly CarrierReport[]
    t.match(receipt, { status: delivered ? 'delivered' : 'undelivered', errorCode: delivered ? null : code })
    t.same(receipt?.fault, delivered ? undefined : { verdict, scope, reason: en }, code)
    if (!delivered) t.same(englishIn(term(en).in('zh-CN')), [], code)
  }
  t.match(parse([reportOf(message, 'BWLIST _006')]), [{ errorCode: 'BWLIST_006' }])
  t.match(parse([reportOf(message, 'x'.repeat(65))]), [{ errorCode: /^x{64}$/ }])
  t.match(parse([reportOf(message, 'MN:0099')]), [{ fault: { verdict: 'recipient' } }], 'of a family')
  t.match(parse([reportOf(message, 'XX:1')]), [{ fault: { verdict: 'later', reason: null } }], 'unknown')
})

t.test('what is none is nothing', async t => {
  for (const body of [null, 'x', 7, {}, [null, 1, 'x', [], {}], [{ report_status: 'FAIL' }], [{ sid: {} }]])
    t.same(parse(body), [])
  t.match(parse([{ sid: 7, ext: '../x', report_status: 1, errmsg: [] }]), [
    { providerId: '7', id: undefined, status: 'undelivered', errorCode: null },
  ])
})
