import { readFileSync } from 'node:fs'
import t from 'tap'
import { TWILIO_CODES, verdictOnTwilioError } from '../../../src/providers/twilio/codes.ts'

const published = JSON.parse(
  readFileSync(new URL('../../fixtures/twilio/error-codes.json', import.meta.url), 'utf8'),
) as readonly { readonly code: number; readonly message: string }[]

/** Written out again, so that a slip in the table is seen. */
const EXPECTED: Readonly<Record<string, string>> = {
  content: '21602 21605 21617 21618 21654 21655 21656 21658',
  recipient: '21211 21217 21265 21266 21604 21610 21614 21635 30003 30004 30005 30006',
  country: '21408',
  ours: '10001 10002 20003 20005 20006 20008 20403 20404 20410 21212 21603 21606 21608 21609 21612 21616 21657 21659 21660 21661 21701 21702 21703 21704 21705',
  later: '21619 20429 14107 21611 30001 30022 30023 30027 63038 20503',
  ambiguous: '20500',
}
const expected = new Map(
  Object.entries(EXPECTED).flatMap(([verdict, codes]) =>
    codes.split(' ').map(code => [Number(code), verdict] as const),
  ),
)

await t.test('every published code means something, and the listed ones exactly that', async t => {
  t.ok(published.length > 1_900)
  const wrong = published.filter(
    ({ code }) =>
      verdictOnTwilioError(400, code) !== (expected.get(code) ?? 'ours') ||
      verdictOnTwilioError(500, code) !== (expected.get(code) ?? 'ambiguous') ||
      verdictOnTwilioError(429, code) !== 'later',
  )
  t.strictSame(wrong, [])
  for (const [code, verdict] of expected) t.equal(verdictOnTwilioError(400, code), verdict, String(code))
})

await t.test('no code is listed twice, none is missing', async t => {
  const listed = Object.values(TWILIO_CODES).flat()
  t.equal(listed.length, expected.size)
  t.strictSame(new Set<number>(listed), new Set(expected.keys()))
})

await t.test('without a code the status decides', async t => {
  for (const status of [301, 307, 400, 401, 403, 404, 405, 413, 422])
    t.equal(verdictOnTwilioError(status, undefined), 'ours', String(status))
  t.equal(verdictOnTwilioError(429, undefined), 'later')
  for (const status of [500, 502, 503, 504, 599])
    t.equal(verdictOnTwilioError(status, undefined), 'ambiguous', String(status))
})
