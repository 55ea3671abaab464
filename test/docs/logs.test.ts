import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../..')
const LEVELS: Readonly<Record<number, string>> = {
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}

/** Rows of docs/logs.md by event. */
const documented = new Map(
  readFileSync(join(root, 'docs/logs.md'), 'utf8')
    .split('\n')
    .flatMap(line => {
      const [, event, levels = '', , fields = ''] =
        /^\| `([\w-]+)` \| ([a-z, ]+) \|([^|]*)\|([^|]*)\|$/.exec(line) ?? []
      if (event === undefined) return []
      const names = [...fields.matchAll(/`(\w+)`/g)].map(([, name]) => name ?? '')
      return [[event, { levels: levels.split(', '), fields: new Set(names) }] as const]
    }),
)

t.test('every event that the source can log is documented, and no other', async t => {
  const emitted = new Set<string>()
  for (const file of globSync('src/**/*.ts', { cwd: root })) {
    const text = readFileSync(join(root, file), 'utf8')
    if (!/\blog\??\.(?:debug|info|warn|error|fatal|child)\(/.test(text)) continue
    for (const [, event] of text.matchAll(/\{\s*event: '([\w-]+)'/g)) if (event) emitted.add(event)
  }
  t.ok(emitted.size > 20)
  t.same([...documented.keys()].sort(), [...emitted].sort())
})

t.test('lines have the fields and levels that are documented', async t => {
  // What each event says is held to this file by admin/event-log.test.ts.
  for (const line of readFileSync(join(root, 'test/fixtures/event-log.txt'), 'utf8').trim().split('\n')) {
    const said = /× (\{.*\})$/.exec(line)?.[1]
    if (said === undefined) continue
    const { level, msg: _, event, ...fields } = JSON.parse(said) as Record<string, unknown>
    const row = documented.get(String(event))
    t.ok(row?.levels.includes(LEVELS[Number(level)] ?? ''), `${String(event)} at ${LEVELS[Number(level)]}`)
    const others = Object.keys(fields).filter(name => !row?.fields.has(name))
    t.same(others, [], `${String(event)} has no other fields`)
  }
})
