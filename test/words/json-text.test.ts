import t from 'tap'
import { lineInJson } from '../../src/runtime/yaml-text.ts'
import { parseJsonFile } from '../../src/words/language-file.ts'
import { templateFaultOf } from '../../src/words/template-engine.ts'

t.test('every value is found on its line', async t => {
  const text =
    '{\n  "a": "x: {\\"y\\"}, [",\n  "b": [\n    1,\n    { "c/d": true, "~": null }\n  ],\n  "e":\n    "f"\n}'
  for (const [pointer, line] of Object.entries({
    '': 1,
    '/a': 2,
    '/b': 3,
    '/b/0': 4,
    '/b/1': 5,
    '/b/1/c~1d': 5,
    '/b/1/~0': 5,
    '/e': 7,
  }))
    t.equal(lineInJson(text, pointer), line, pointer)
})

t.test('a value that is not there has the line of what is around it', async t => {
  const text = '{\n  "a": {\n    "b": [\n      1 ] }\n}'
  t.equal(lineInJson(text, '/none'), 1)
  t.equal(lineInJson(text, '/a/none/c'), 2)
  t.equal(lineInJson(text, '/a/b/1'), 3)
  t.equal(lineInJson(text, '/a/b/0/c'), 4)
})

t.test('of two members of one name the last counts, as in JSON.parse', async t => {
  t.equal(lineInJson('{\n"a": 1,\n"a": 2 }', '/a'), 3)
})

t.test('the line of a syntax error, and a reason that quotes nothing', async t => {
  for (const [text, line, reason] of [
    ['{\n\n"a": ,}', 3, 'unexpected token'],
    ['{\n"a": 1\n"b": 2}', 3, "expected ',' or '}' after property value"],
    ['{\n"a": 1\n', 3, "expected ',' or '}' after property value"],
    ['{\n"a": [\n', 3, 'unexpected end'],
    ['nonsense', 1, 'unexpected token'],
    ['{}\n\n"more"', 3, 'unexpected non-whitespace character'],
    ['{ "a": "b\n" }', 1, 'bad control character in string literal'],
    ['{\n "a": tru,\n "b": 1 }', 2, 'unexpected token'],
    ['{\n "a": 1, // why\n "b": 1 }', 2, 'expected double-quoted property name'],
    ['{\n "a": 1,\n}', 3, 'expected double-quoted property name'],
  ] as const) {
    const fault = faultOf(text)
    t.equal(fault.line, line, text)
    t.equal(fault.message, `not JSON: ${reason}`)
  }
  t.match(faultOf('[]'), { message: 'not a JSON object', line: 1 })
})

function faultOf(text: string) {
  try {
    parseJsonFile(text)
  } catch (error) {
    return templateFaultOf(error)
  }
  throw new Error('it parsed')
}
