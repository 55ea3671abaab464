import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { quote, term } from '../../../src/language/sentence.ts'
import {
  createCodeTable,
  faultOfReport,
  judgeStatus,
  msUntilNextTotal,
  outcomeOfVerdict,
} from '../../../src/providers/codes.ts'
import listed from '../../../src/providers/twilio.codes.json' with { type: 'json' }
import { englishIn } from '../../language/english.ts'
import { startTwilioServer } from '../../rigs/twilio-server.ts'
import { SHORT_HTTP } from '../short.ts'
import { judgementOf } from '../sms.ts'
import { openTwilio, sms, twilioError } from './rig.ts'

const published = JSON.parse(
  readFileSync(new URL('../../fixtures/twilio/error-codes.json', import.meta.url), 'utf8'),
) as readonly { readonly code: number; readonly message: string }[]

/** Written out again, so that a slip in the table is seen. */
const EXPECTED: Readonly<Record<string, string>> = {
  content: '21602 21605 21617 21618 21654 21655 21656 21658',
  recipient: '21211 21217 21265 21266 21604 21610 21614 21635 30003 30004 30005 30006',
  country: '21408',
  ours: '10001 10002 20003 20005 20006 20008 20403 20404 20410 21212 21603 21606 21608 21609 21612 21616 21657 21659 21660 21661 21701 21702 21703 21704 21705',
  later: '21619 20429 14107 21611 30001 30022 20503',
  limit: '30023 30027 63038',
  ambiguous: '20500',
}
const expected = new Map(
  Object.entries(EXPECTED).flatMap(([verdict, codes]) =>
    codes.split(' ').map(code => [Number(code), verdict] as const),
  ),
)

t.test('every published code means something, and the listed ones exactly that', async t => {
  const server = await startTwilioServer()
  // Some thousand requests share the connections: the last ones wait for as long as the machine takes.
  const limits = { ...SHORT_HTTP, answerMs: 120_000 }
  const provider = openTwilio(server.url, { concurrency: 20, limits })
  t.teardown(async () => Promise.all([provider.close(), server.close()]))
  const judgementOn = async (status: number, code: number) => {
    const outcome = await provider.send(
      sms(undefined, { text: () => `${status} ${code}` }),
      new AbortController().signal,
    )
    return judgementOf(outcome)
  }
  server.fault = ({ form }) => {
    const [status, code] = (form['Body'] ?? '').split(' ').map(Number)
    return twilioError(status ?? 0, code ?? 0)
  }
  t.ok(published.length > 1_900)
  const codes = new Set([...published.map(({ code }) => code), ...expected.keys()])
  const wrong = await Promise.all(
    [...codes].map(async code => {
      const meant = expected.get(code)
      const said = [await judgementOn(400, code)]
      if (meant !== undefined || code % 10 === 0)
        said.push(await judgementOn(500, code), await judgementOn(429, code))
      const { scope } = listed.send.find(each => Number(each.code) === code) ?? {}
      const right = [
        { verdict: meant ?? 'ours', scope: scope ?? 'message' },
        { verdict: meant ?? 'ambiguous', scope: scope ?? 'transport' },
        meant === 'limit' ? { verdict: meant, scope } : { verdict: 'later', scope: 'account' },
      ]
      return said.every((each, n) => isDeepStrictEqual(each, right[n])) ? [] : [[code, said]]
    }),
  )
  t.same(wrong.flat(), [])
})

t.test('no code is listed twice, none is missing, and each has words', async t => {
  t.equal(listed.send.length, expected.size)
  t.same(new Set(listed.send.map(({ code }) => Number(code))), new Set(expected.keys()))
  for (const { code, en, verdict } of listed.send) t.ok(en && Object.hasOwn(listed.verdicts, verdict), code)
})

t.test('without a code the status decides', async t => {
  for (const [expected, statuses] of Object.entries({
    'ours, transport': [301, 307],
    'ours, message': [400, 405, 413, 422],
    'ours, account': [401, 402, 403, 404, 407],
    'later, account': [429],
    'ambiguous, transport': [500, 502, 503, 504, 599],
  }))
    for (const status of statuses) {
      const { verdict, scope } = judgeStatus(status)
      t.equal(`${verdict}, ${scope}`, expected, String(status))
    }
})

t.test('a report has a code that Twilio publishes, and words in both languages', async t => {
  const known = new Set(published.map(({ code }) => String(code)))
  for (const { code, en } of listed.receipt) {
    t.ok(known.has(code), code)
    t.same(englishIn(term(en).in('zh-CN')), [], code)
  }
  const ours = listed.receipt.filter(({ verdict, scope }) => verdict === 'ours' && scope === 'sender')
  t.equal(ours.map(({ code }) => code).join(), '30018,30024,30032,30033,30034,30035')
})

t.test(
  'the fault of a report, and the outcome of a refusal, follow from the verdict where no scope is listed',
  async t => {
    for (const [listed, fault] of [
      [undefined, ['later', 'message', null]],
      [{ verdict: 'ok', scope: 'account', en: 'It came.' }, ['later', 'message', null]],
      [{ verdict: 'recipient', en: 'Nobody.' }, ['recipient', 'recipient', 'Nobody.']],
      [{ verdict: 'country' }, ['country', 'country', null]],
      [{ verdict: 'ours' }, ['ours', 'message', null]],
      [{ verdict: 'ours', scope: 'sender' }, ['ours', 'sender', null]],
    ] as const) {
      const [verdict, scope, reason] = fault
      t.same(faultOfReport(listed), { verdict, scope, reason })
    }
    const said = { code: '7', reply: quote('no') }
    for (const [verdict, scope, outcome] of [
      ['ambiguous', 'transport', { is: 'ambiguous', scope: 'transport' }],
      ['ours', 'account', { is: 'retry', whose: 'ours', scope: 'account' }],
      ['later', 'sender', { is: 'retry', whose: 'later', scope: 'sender' }],
      ['limit', undefined, { is: 'limit', scope: 'account', retryAfterMs: 3_600_000 }],
      ['limit', 'sender', { is: 'limit', scope: 'sender', retryAfterMs: 3_600_000 }],
      ['content', undefined, { is: 'rejected', scope: 'message' }],
      ['content', 'template', { is: 'rejected', scope: 'template' }],
      ['recipient', undefined, { is: 'rejected', scope: 'recipient' }],
      ['country', 'recipient', { is: 'rejected', scope: 'recipient' }],
    ] as const)
      t.same(outcomeOfVerdict({ verdict, scope }, '7', quote('no')), { ...outcome, ...said })
    t.equal(msUntilNextTotal(Date.parse('2026-11-20T15:30:00Z')), 1_800_000, 'midnight in China')
    t.equal(msUntilNextTotal(Date.parse('2026-11-20T14:59:00Z')), 3_600_000)
  },
)

t.test(
  'of lists the first one that has a code counts, and a whole code before the beginning of one',
  async t => {
    const [own, usual] = [{ verdict: 'later' }, { verdict: 'ours' }]
    const find = createCodeTable(
      [{ code: 'a.b', ...own }],
      [
        { code: 'a.b', ...usual },
        { code: 'a.*', prefix: true, ...usual },
        { code: 'c', ...usual },
      ],
    )
    const found = ['a.b', 'a.c', 'c', 'c.d', 'b'].map(code => find(code)?.verdict)
    t.same(found, ['later', 'ours', 'ours', undefined, undefined])
  },
)
