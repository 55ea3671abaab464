import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { placeMistake, readMistakes, readSources } from './place.ts'

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
  t.match(place('f(1)'), { fault: /does not parse/ })
})
