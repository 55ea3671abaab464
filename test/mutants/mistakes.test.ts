import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { mistakes } from './mistakes.ts'
import { placeMistake, readSources } from './place.ts'

const ROOT = resolve(import.meta.dirname, '..', '..')

t.test('every mistake of the list can be planted in one place', async t => {
  const sources = readSources(ROOT)
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
    ['src/a.ts', 'if (a < b) return 1\nconst c = 2\n'],
    ['src/b.ts', 'const c = 2'],
  ])
  const place = (text: string) => placeMistake({ text, instead: 'X', tests: [] }, sources)
  t.same(place('if (a <\n  b)'), { file: 'src/a.ts', planted: 'X return 1\nconst c = 2\n' })
  t.match(place('const d'), { fault: /no file/ })
  t.match(place('const c = 2'), { fault: /both hold/ })
})
