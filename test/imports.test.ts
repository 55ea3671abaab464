import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import t from 'tap'

const SRC = join(import.meta.dirname, '../src')

/** What a part may import beside itself and packages. A name with a dot is one file; `*` is everything. */
const MAY: Readonly<Record<string, readonly string[]>> = {
  'answers.ts': ['messages/message.ts'],
  'clock.ts': [],
  'fault.ts': [],
  'transient.ts': [],
  config: [],
  messages: [],
  platform: [],
  tls: [],
  outbox: ['messages/message.ts', 'clock.ts', 'fault.ts', 'transient.ts'],
  providers: ['messages/message.ts', 'clock.ts', 'fault.ts', 'transient.ts'],
  delivery: [
    'outbox/outbox.ts',
    'providers/provider.ts',
    'messages/message.ts',
    'clock.ts',
    'fault.ts',
    'transient.ts',
  ],
  callback: ['messages', 'outbox/outbox.ts', 'answers.ts', 'clock.ts', 'fault.ts'],
  ddq: ['clock.ts', 'fault.ts', 'platform'],
  alerts: ['ddq', 'messages', 'outbox/outbox.ts', 'clock.ts', 'fault.ts'],
  admin: [
    'callback',
    'config',
    'delivery',
    'messages',
    'outbox/outbox.ts',
    'providers/provider.ts',
    'tls',
    'answers.ts',
    'clock.ts',
    'fault.ts',
  ],
}
/** The composition may import everything; nothing may import it. */
const TOP = new Set([
  'app.ts',
  'assembly.ts',
  'alerting.ts',
  'callback-urls.ts',
  'server.ts',
  'main.ts',
  'heap.ts',
  'commands',
  'sandbox',
])

const files = readdirSync(SRC, { recursive: true, withFileTypes: true })
  .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
  .map(entry => relative(SRC, join(entry.parentPath, entry.name)))

/** The part a file belongs to: its folder below src, or the file itself; `config.ts` is the door of `config`. */
function partOf(file: string): string {
  const [first = ''] = file.split('/')
  return first === 'config.ts' || first === 'tls.ts' ? first.slice(0, -3) : first
}

function importsOf(file: string): readonly string[] {
  const text = readFileSync(join(SRC, file), 'utf8')
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)]
    .map(([, path]) => relative(SRC, resolve(SRC, dirname(file), path ?? '')))
    .filter(path => path.endsWith('.ts'))
}

t.test('imports run one way: from the composition down to the terms', async t => {
  const parts = new Set(files.map(partOf))
  for (const part of parts)
    t.ok(TOP.has(part) || Object.hasOwn(MAY, part), `${part} has its place in the order`)
  for (const file of files) {
    const part = partOf(file)
    if (TOP.has(part)) continue
    const allowed = MAY[part] ?? []
    const wrong = importsOf(file).filter(
      path => partOf(path) !== part && !allowed.includes(path) && !allowed.includes(partOf(path)),
    )
    t.same(wrong, [], file)
  }
})

/** The road of a message, and who looks at it. */
const ROAD = new Set(['callback', 'outbox', 'delivery', 'providers', 'admin'])

t.test('on the road of a message no file imports itself by way of others', async t => {
  const onRoad = files.filter(file => ROAD.has(partOf(file)))
  const known = new Map(onRoad.map(file => [file, importsOf(file)]))
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (file: string, way: readonly string[]): void => {
    const from = way.indexOf(file)
    if (from >= 0) circles.push([...way.slice(from), file].join(' → '))
    if (from >= 0 || done.has(file)) return
    for (const next of known.get(file) ?? []) visit(next, [...way, file])
    done.add(file)
  }
  for (const file of onRoad) visit(file, [])
  t.ok(known.size > 50, `${known.size} files`)
  t.same(circles, [])
})

t.test('only the server and the command line touch the process', async t => {
  for (const file of files) {
    if (file === 'server.ts' || file === 'main.ts') continue
    const text = readFileSync(join(SRC, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, '')
    t.notMatch(text, /\bprocess\.(?:env|exit|on|once|argv|kill|stdout|stderr|stdin|chdir)\b/, file)
  }
})
