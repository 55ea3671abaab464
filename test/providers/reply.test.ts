import t from 'tap'
import { presentableCode, presentableReply } from '../../src/providers/reply.ts'

await t.test('what the provider repeats of the message is taken out', async t => {
  const said = (text: string, secrets?: readonly string[]): string =>
    presentableReply(text, 'reader@example.com', secrets)
  for (const [text, shown] of [
    ['550 5.1.1 <reader@example.com> unknown', '550 5.1.1 <recipient> unknown'],
    ['550 5.1.1 READER@EXAMPLE.COM unknown', '550 5.1.1 <recipient> unknown'],
    ['550 5.1.1 other@example.com unknown', '550 5.1.1 <address> unknown'],
    [
      '554 5.7.26 see https://platform.example/a#b and www.example.com/x.',
      '554 5.7.26 see <link> and <link>',
    ],
    ['554 code 123456 refused', '554 code … refused'],
    ['554 code 12-34-56 refused', '554 code … refused'],
    ['554 code aZ3dF9 refused', '554 code … refused'],
    ['554 code "123456" refused', '554 code "…" refused'],
    ["554 code 'aZ3dF9' refused", "554 code '…' refused"],
    ['550 "reader@example.com" unknown', '550 "<recipient>" unknown'],
    ['550 <"reader"@example.com> unknown', '550 <address> unknown'],
    ['550 "other.reader"@example.com unknown', '550 <address> unknown'],
    ['250 2.0.0 Ok: queued as 4F2C1A0B9D', '250 2.0.0 Ok: queued as …'],
    ['421 4.3.2 try again in 5 minutes', '421 4.3.2 try again in 5 minutes'],
    ['550 5.7.26. no', '550 5.7.26. no'],
    ['  two\r\nlines\tand \u001b[31m colour\u2028 ', 'two lines and [31m colour'],
  ] as const)
    t.equal(said(text), shown)
  t.equal(said('you sent top(secret as password', ['top(secret']), 'you sent … as password')
  t.equal(said('x'.repeat(5000)).length, 200)
})

await t.test('a number is taken out with and without its plus', async t => {
  t.equal(
    presentableReply("The 'To' number +8613800138000 (8613800138000) is wrong", '+8613800138000'),
    "The 'To' number <recipient> (<recipient>) is wrong",
  )
})

await t.test('a hostile reply is no work', async () => {
  // What takes time with the square of the length does not end.
  for (const text of [
    '@'.repeat(1e6),
    '<'.repeat(1e6),
    'a1'.repeat(5e5),
    'http://'.repeat(2e5),
    '1 '.repeat(5e5),
  ])
    presentableReply(text, 'reader@example.com')
})

t.test('a code is shown unless it repeats the number or a secret', t => {
  const shown = (code: string) => presentableCode(code, '+8613800138000', ['test', '4711', 'abc'])
  for (const code of ['latest', 'isv.LIMIT', 'abc', 'E4710', 'x'.repeat(80)]) t.equal(shown(code), code)
  for (const code of ['test', 'E4711', 'for:00138000', 'two words', '', 'x'.repeat(81)])
    t.equal(shown(code), undefined, code)
  t.end()
})

t.test('where a long reply is cut no half of an address is left', t => {
  const links = `https://example.com/${'a'.repeat(225)} `.repeat(2)
  for (let filler = 50; filler < 150; filler += 1) {
    const text = `${links}${'x'.repeat(filler)} canary.other@example.org unknown`
    t.notMatch(presentableReply(text, 'reader@example.com'), /canary/)
  }
  t.end()
})

t.test('an emoji that is cut in half, by the server or by the limit, is not passed on', async t => {
  t.equal(presentableReply('250 thanks \ud83d', 'a@example.com'), '250 thanks')
  for (const before of [198, 199, 200]) {
    const reply = presentableReply(`${'x'.repeat(before)}😀`, 'a@example.com')
    t.ok(reply.isWellFormed(), `after ${before} letters`)
  }
  t.notMatch(presentableReply('250 a\0b', 'a@example.com'), /\0/)
})
