import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'

const root = resolve(import.meta.dirname, '../..')
const docs = readFileSync(join(root, 'docs/security.md'), 'utf8')

t.test('every test that docs/security.md names exists', async t => {
  const rows = docs.split('\n').filter(line => /^\|.*\|.*\| `[^`]+: [^`]+` \|$/.test(line))
  t.ok(rows.length >= 45, `${rows.length} rows`)
  for (const row of rows) {
    const [, file = '', name = ''] = /`([\w./-]+): ([^`]+)` \|$/.exec(row) ?? []
    const path = join(root, 'test', file.includes('/') ? file : `attack/${file}.test.ts`)
    if (!existsSync(path)) {
      t.fail(`${path} does not exist`)
      continue
    }
    const source = readFileSync(path, 'utf8').replaceAll("\\'", "'")
    const declared = [`'${name}'`, `"${name}"`, `\`${name}\``]
    t.ok(
      declared.some(literal => new RegExp(`\\.test\\(\\s*${escaped(literal)}`).test(source)),
      `${file}: ${name}`,
    )
  }
})

t.test('every row of the threats names a test', async t => {
  const threats = docs.slice(docs.indexOf('## Threats'), docs.indexOf('## What is left'))
  const rows = threats
    .split('\n')
    .filter(line => line.startsWith('|') && !/^\|(-|\s*what is tried)/.test(line))
  for (const row of rows) t.match(row, /\| `[^`]+: [^`]+` \|$/, row.slice(0, 60))
})

t.test('every test that plays an attack is named', async t => {
  for (const file of [
    'addresses',
    'bodies',
    'callers',
    'connections',
    'console',
    'floods',
    'newcomers',
    'numbers',
    'pairs',
    'quotas',
    'secrets',
    'tls',
  ])
    t.match(docs, `\`${file}: `, file)
})

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}
