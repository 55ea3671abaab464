import t from 'tap'
import { filledTextOf, isObject, objectOf, parseJson } from '../../src/runtime/json-object.ts'

t.test('an object is neither a list nor null, and what is no JSON is nothing', async t => {
  for (const [text, is] of [
    ['{}', true],
    ['{"a": []}', true],
    ['[]', false],
    ['[{}]', false],
    ['null', false],
    ['"{}"', false],
    ['1', false],
    ['{', false],
  ] as const) {
    const value = parseJson(text)
    t.equal(isObject(value), is, text)
    t.equal(objectOf(value), is ? value : null)
  }
  t.equal(parseJson('{'), undefined)
})

t.test('a name or a number is text, and nothing else is', async t => {
  for (const [value, text] of [
    ['x', 'x'],
    [0, '0'],
    [9223372036854775807n, '9223372036854775807'],
    ['', undefined],
    [null, undefined],
    [true, undefined],
    [['x'], undefined],
  ] as const)
    t.equal(filledTextOf(value), text)
})
