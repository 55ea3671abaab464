import { readFileSync } from 'node:fs'
import t from 'tap'
import { readPostgresUrl } from '../../src/runtime/postgres-url.ts'

t.test('a URL that names several hosts is one for each, as the driver reads it', async t => {
  const cases = readFileSync(new URL('../fixtures/postgres-urls.txt', import.meta.url), 'utf8')
  for (const each of cases.trimEnd().split('\n')) {
    const [text = '', expected] = each.split(' ⇒ ')
    t.equal(JSON.stringify(readPostgresUrl(JSON.parse(text))), expected, text)
  }
})
