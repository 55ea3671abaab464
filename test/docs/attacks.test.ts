import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'

const root = resolve(import.meta.dirname, '../..')
const docs = readFileSync(join(root, 'docs/attacks.md'), 'utf8')
const rows = docs.split('\n').filter(line => line.startsWith('|') && !/^\|(-|\s*tried)/.test(line))
/** The tests that a row names, in its last cell: a file and the beginning of a name. */
const testsOf = (row: string) => [...(row.split(' | ').at(-1) ?? '').matchAll(/`([\w./-]+): ([^`]+)`/g)]

t.test('every row of docs/attacks.md names a test', async t => {
  t.ok(rows.length >= 45, `${rows.length} rows`)
  for (const row of rows) t.ok(testsOf(row).length > 0, row.slice(0, 60))
})

t.test('every test that docs/attacks.md names exists, and is the only one of that beginning', async t => {
  for (const row of rows)
    for (const [, file = '', begin = ''] of testsOf(row)) {
      const path = join(root, 'test', file.includes('/') ? file : `attack/${file}.test.ts`)
      if (!existsSync(path)) {
        t.fail(`${path} does not exist`)
        continue
      }
      const source = readFileSync(path, 'utf8').replaceAll("\\'", "'")
      const begins = escaped(begin.replace(/…$/, ''))
      const declared = source.match(new RegExp(`\\.test\\(\\s*['"\`]${begins}`, 'g')) ?? []
      t.equal(declared.length, 1, `${file}: ${begin}`)
    }
})

t.test('every file that plays an attack is named', async t => {
  for (const entry of readdirSync(join(root, 'test/attack'))) {
    const [, file = ''] = /^([\w-]+)\.test\.ts$/.exec(entry) ?? []
    if (file !== '') t.match(docs, new RegExp(`\`(?:attack/)?${file}(?:\\.test\\.ts)?: `), file)
  }
})

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}
