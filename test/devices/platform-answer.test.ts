import t from 'tap'
import { type AnswerForm, resultIn } from '../../sandbox/emulator/platform-client.ts'
import { describeFailure, readAnswer as readBody, refusesCredential } from '../../src/devices/platform-api.ts'
import { quote } from '../../src/language/sentence.ts'

const readAnswer = (status: number, text: string, form: AnswerForm) => resultIn(form, readBody(status, text))

t.test('version 2: code 200 is success, and data is the result', async t => {
  t.same(readAnswer(200, '{"code":200,"status":200,"msg":"","data":{"a":1}}', 'envelope'), {
    ok: true,
    value: { a: 1 },
  })
  const bare = readAnswer(200, '{"code":200,"msg":"","data":{}}', 'envelope')
  t.same(bare, { ok: true, value: {} }, 'status may be absent')
})

t.test('version 2: any other code is a failure, also under HTTP 200, and status the HTTP status', async t => {
  for (const status of [408, 200])
    t.same(readAnswer(200, `{"code":4081001,"status":${status},"msg":"too slow","data":{}}`, 'envelope'), {
      ok: false,
      failure: { is: 'refused', httpStatus: 200, status, code: 4_081_001, message: 'too slow' },
    })
})

t.test('version 1: an error object is a failure, anything else the result', async t => {
  t.same(readAnswer(400, '{"error":{"code":4001001,"msg":"age is invalid"}}', 'top-level'), {
    ok: false,
    failure: { is: 'refused', httpStatus: 400, status: 400, code: 4_001_001, message: 'age is invalid' },
  })
  t.same(readAnswer(200, '{"list":[1]}', 'top-level'), { ok: true, value: { list: [1] } })
})

t.test('errors are recognized by their form, whichever version the endpoint has', async t => {
  t.match(readAnswer(403, '{"code":4031003,"status":403,"msg":"no","data":{}}', 'top-level'), {
    failure: { is: 'refused', code: 4_031_003 },
  })
  t.match(readAnswer(200, '{"error":{"code":5021001,"msg":"gateway"}}', 'envelope'), {
    failure: { is: 'refused', code: 5_021_001 },
  })
})

t.test('a result of a top-level endpoint may have a field called code', async t => {
  t.same(readAnswer(200, '{"code":7,"name":"x"}', 'top-level'), { ok: true, value: { code: 7, name: 'x' } })
})

t.test('an answer that the contract does not describe is a failure that says so', async t => {
  const message = 'the answer is no JSON object'
  for (const text of ['<html>', '[]'])
    t.match(readAnswer(200, text, 'envelope'), { failure: { is: 'refused', httpStatus: 200, message } })
  t.match(readAnswer(200, '{"a":1}', 'envelope'), { failure: { is: 'refused', message: /not an envelope/ } })
  t.match(readAnswer(502, '<html>bad gateway</html>', 'envelope'), {
    failure: { is: 'refused', httpStatus: 502, status: 502, code: null, message: '' },
  })
})

t.test('a message of the platform becomes one short line', async t => {
  const text = JSON.stringify({ code: 1, msg: `\n a\nb\u202e${'x'.repeat(500)}` })
  t.match(readAnswer(200, text, 'envelope'), { failure: { message: `a b ${'x'.repeat(196)}` } })
})

t.test('a refused credential is one with 401 or 403, in HTTP, envelope or code', async t => {
  const refused = (httpStatus: number, status: number, code: number | null) =>
    refusesCredential({ is: 'refused', httpStatus, status, code, message: '' })
  t.ok(refused(401, 401, null))
  t.ok(refused(200, 403, 1))
  t.ok(refused(200, 200, 4_031_003))
  t.ok(refused(200, 200, 4_011_001))
  t.notOk(refused(400, 400, 4_001_002))
  t.notOk(refused(504, 504, 5_041_001))
  t.notOk(refusesCredential({ is: 'unreachable', message: quote('ECONNREFUSED') }))
})

t.test('a failure is described in a log line', async t => {
  const refused = { is: 'refused', httpStatus: 403, status: 403 } as const
  for (const [failure, words] of [
    [{ ...refused, code: 4_031_003, message: 'no' }, 'refused: HTTP 403, code 4031003, no'],
    [{ ...refused, code: null, message: '' }, 'refused: HTTP 403, code none'],
    [{ is: 'unreachable', message: quote('ECONNREFUSED') }, 'ECONNREFUSED'],
  ] as const)
    t.equal(String(describeFailure(failure)), words)
})
