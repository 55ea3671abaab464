import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { codeLines, draw } from './draw.ts'
import { placeMistake, placeSampled, readMistakes, readSources } from './place.ts'

const ROOT = resolve(import.meta.dirname, '..', '..')

t.test('every mistake of the list can be planted in one place', async t => {
  const sources = readSources(ROOT)
  const mistakes = readMistakes()
  t.ok(mistakes.length >= 100, `${mistakes.length} mistakes`)
  const faults = mistakes.flatMap((mistake, at) => {
    const place = placeMistake(mistake, sources)
    if ('fault' in place) return [`${at + 1}: ${place.fault}`]
    if (place.planted === sources.get(place.file)) return [`${at + 1}: changes nothing`]
    const gone = mistake.tests.filter(path => !existsSync(join(ROOT, path)))
    return gone.map(path => `${at + 1}: there is no ${path}`)
  })
  t.same(faults, [], 'when the text has changed, change it here, and see that the mistake is still noticed')
})

t.test('a text that stands nowhere, or twice, is no place', async t => {
  const sources = new Map([
    ['src/a.ts', 'if (a < b) f(1)\nconst c = 2\n'],
    ['src/b.ts', 'const c = 2'],
  ])
  const place = (text: string) => placeMistake({ text, instead: 'if (d)', tests: [] }, sources)
  t.same(place('if (a <\n  b)'), { file: 'src/a.ts', planted: 'if (d) f(1)\nconst c = 2\n' })
  t.match(place('const d'), { fault: /no file/ })
  t.match(place('const c = 2'), { fault: /both hold/ })
})

t.test('what does not parse is no mistake', async t => {
  const sources = new Map([['src/a.ts', 'const a = 1\nconst b: number = a\n']])
  const place = (instead: string) => placeMistake({ text: '= a', instead, tests: [] }, sources)
  t.match(place('= -a'), { planted: 'const a = 1\nconst b: number = -a\n' })
  t.match(place('= a return b'), { fault: /does not parse/ })
})

t.test('a mistake of a sample begins in the line that was drawn', async t => {
  const sources = new Map([['src/a.ts', 'f(1)\nf(1)\n']])
  const place = (at: string) => placeSampled({ at, text: 'f(1)', instead: 'f(2)' }, sources)
  t.same(place('src/a.ts:1'), { file: 'src/a.ts', planted: 'f(2)\nf(1)\n' })
  t.same(place('src/a.ts:2'), { file: 'src/a.ts', planted: 'f(1)\nf(2)\n' })
  t.match(place('src/a.ts:3'), { fault: /does not hold/ })
  t.match(place('src/b.ts:1'), { fault: /there is no/ })
})

t.test('lines that are drawn have code: no comment, no import, no mere type', async t => {
  const source = [
    "import { a } from './a.ts'",
    'import {',
    '  b,',
    "} from './b.ts'",
    '',
    '/** A type. */',
    'interface C {',
    '  readonly d: string',
    '}',
    '/*',
    ' * f(1)',
    ' */',
    'export function f(c: C): void {',
    '  // f(2)',
    '  if (a(c)) b()',
    '}',
  ].join('\n')
  t.same(codeLines(source), [13, 15])
})

t.test('a seed draws the same lines again, each once', async t => {
  const lines = draw(readSources(ROOT), { seed: 7, count: 50, room: 'outbox' })
  t.same(draw(readSources(ROOT), { seed: 7, count: 50, room: 'outbox' }), lines)
  t.equal(new Set(lines.map(({ at }) => at)).size, 50)
  t.ok(lines.every(({ at }) => at.startsWith('src/outbox/')))
})
