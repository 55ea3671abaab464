import fc from 'fast-check'
import t from 'tap'
import { jsonLines, lineOfSyntaxError } from '../../src/words/json-lines.ts'

t.test('every value is found on its line', async t => {
  const text =
    '{\n  "a": "x: {\\"y\\"}, [",\n  "b": [\n    1,\n    { "c/d": true, "~": null }\n  ],\n  "e":\n    "f"\n}'
  t.same(Object.fromEntries(jsonLines(text)), {
    '': 1,
    '/a': 2,
    '/b': 3,
    '/b/0': 4,
    '/b/1': 5,
    '/b/1/c~1d': 5,
    '/b/1/~0': 5,
    '/e': 8,
  })
})

t.test('any value, written one member a line, has all its pointers, in order', async () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), value => {
      const pretty = JSON.stringify(value, null, 1)
      const lines = [...jsonLines(pretty).values()]
      return (
        lines.every((line, i) => line >= (lines[i - 1] ?? 1)) &&
        (lines.at(-1) ?? 1) <= pretty.split('\n').length
      )
    }),
  )
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 4 }),
      value => jsonLines(JSON.stringify(value, null, 1)).size === pointersOf(value, '').size,
    ),
  )
})

t.test('the line of a syntax error', async t => {
  for (const [text, line] of [
    ['{\n\n"a": ,}', 3],
    ['{\n"a": 1\n"b": 2}', 3],
    ['{\n"a": 1\n', 3],
    ['nonsense', 1],
    ['{}\n\n"more"', 3],
    ['{ "a": "b\n" }', 1],
    ['{\n "a": tru,\n "b": 1 }', 2],
  ] as const) {
    try {
      JSON.parse(text)
      t.fail('it parsed')
    } catch {
      t.equal(lineOfSyntaxError(text), line)
    }
  }
})

function pointersOf(value: unknown, at: string): Set<string> {
  const found = new Set([at])
  if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      const step = key.replaceAll('~', '~0').replaceAll('/', '~1')
      for (const pointer of pointersOf(member, `${at}/${step}`)) found.add(pointer)
    }
  }
  return found
}
