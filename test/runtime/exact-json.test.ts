import t from 'tap'
import { intOf, parseExactly, stringifyExactly } from '../../src/runtime/exact-json.ts'

t.test('a whole number keeps every digit, however long it is', async t => {
  const text = '{"id":9007199254740993,"list":[-12345678901234567890,7],"small":42}'
  const value = parseExactly(text)
  t.same(value, { id: 9_007_199_254_740_993n, list: [-12_345_678_901_234_567_890n, 7], small: 42 })
  t.equal(stringifyExactly(value), text)
})

t.test('a whole number that fits a number stays one', async t => {
  t.same(parseExactly('{"a":9007199254740991,"t":1795219200123,"f":0.12345678901234567,"e":1e3}'), {
    a: 9_007_199_254_740_991,
    t: 1_795_219_200_123,
    f: Number('0.12345678901234567'),
    e: 1000,
  })
  t.equal(parseExactly('"12345678901234567890"'), '12345678901234567890', 'digits in a string stay text')
})

t.test('a whole number may also come as its digits', async t => {
  t.equal(intOf('42'), 42)
  t.equal(intOf('9007199254740993'), 9_007_199_254_740_993n)
  t.equal(intOf(7n), 7n)
  for (const none of [1.5, '1.5', '', 'x', null, undefined, true, {}, [], Number.NaN])
    t.equal(intOf(none), undefined)
})
