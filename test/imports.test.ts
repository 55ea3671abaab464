import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import t from 'tap'

const ROOT = join(import.meta.dirname, '..')

/**
 * The rooms of src/, and which others each may import, type imports included. A name that ends in `.ts` is one file of
 * a room; every room may import `runtime` and `language`.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  language: [],
  runtime: [],
  messages: [],
  settings: ['messages/message.ts', 'messages/quotas.ts'],
  config: ['settings', 'providers'],
  tls: [],
  words: ['messages'],
  outbox: ['messages/message.ts'],
  events: ['messages/message.ts', 'outbox/outbox.ts', 'providers/provider.ts'],
  providers: [
    'settings',
    'messages/message.ts',
    'messages/sms-segments.ts',
    'outbox/outbox.ts',
    'words/template-engine.ts',
  ],
  reports: ['events', 'messages/message.ts', 'outbox/outbox.ts', 'providers/provider.ts'],
  delivery: [
    'events',
    'outbox/outbox.ts',
    'outbox/rules.ts',
    'providers/provider.ts',
    'messages/message.ts',
    'reports/carrier-reports.ts',
  ],
  // Of the delivery its port alone: the handover of a message and its verdict. Of the outbox also the names that are
  // keyed hashes, which a message is stored under; of the providers how their delivery reports are read.
  callback: [
    'events',
    'messages',
    'outbox/outbox.ts',
    'outbox/rules.ts',
    'outbox/encryption.ts',
    'delivery/port.ts',
    'providers/receipts.ts',
  ],
  bounces: [
    'events',
    'messages/message.ts',
    'outbox/outbox.ts',
    'outbox/rules.ts',
    'providers/diagnosis.ts',
    'providers/receipts.ts',
    'providers/redact.ts',
    'settings/urls.ts',
  ],
  devices: [
    'events',
    'messages',
    'outbox/outbox.ts',
    'outbox/encryption.ts',
    'providers/http-client.ts',
    'providers/redact.ts',
    'settings/urls.ts',
  ],
  webhooks: ['events', 'messages/message.ts', 'outbox/outbox.ts', 'providers/http-client.ts'],
  admin: [
    'bounces/mailbox.ts',
    'callback',
    'config',
    'delivery',
    'devices/alerts.ts',
    'events',
    'messages',
    'outbox/outbox.ts',
    'outbox/receipt-order.ts',
    'providers/diagnosis.ts',
    'outbox/rules.ts',
    'providers/http-client.ts',
    'providers/provider.ts',
    'reports',
    'tls',
    'webhooks/webhooks.ts',
    'words',
  ],
}
/** What puts the rooms together: these import everything, and no room imports them. */
const TOP = new Set(['main.ts', 'commands', 'service'])

const files = ['src', 'sandbox'].flatMap(folder =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => relative(ROOT, join(entry.parentPath, entry.name))),
)
const shipped = files.filter(file => file.startsWith('src/')).map(file => file.slice('src/'.length))

/** The room a file of src/ belongs to: its first folder, or the file itself. */
function roomOf(file: string): string {
  return file.split('/')[0] ?? ''
}

/** @param file from the root. @returns what it imports of this tree, from the root, type imports included. */
function importsOf(file: string): readonly string[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)]
    .map(([, path]) => relative(ROOT, resolve(ROOT, dirname(file), path ?? '')))
    .filter(path => path.endsWith('.ts'))
}

t.test('imports run one way, from the wiring down to the terms', async t => {
  for (const room of new Set(shipped.map(roomOf)))
    t.ok(TOP.has(room) || Object.hasOwn(MAY_IMPORT, room), `${room} has its place in the order`)
  for (const file of shipped) {
    const room = roomOf(file)
    if (TOP.has(room)) continue
    const allowed = ['runtime', 'language', ...(MAY_IMPORT[room] ?? [])]
    const wrong = importsOf(`src/${file}`)
      .map(path => relative('src', path))
      .filter(path => roomOf(path) !== room && !allowed.includes(path) && !allowed.includes(roomOf(path)))
    t.same(wrong, [], file)
  }
})

t.test('beside main.ts no file is loose, and nothing that is shipped imports the sandbox', async t => {
  t.same(
    shipped.filter(file => !file.includes('/')),
    ['main.ts'],
  )
  for (const file of shipped)
    t.same(
      importsOf(`src/${file}`).filter(path => !path.startsWith('src/')),
      [],
      file,
    )
})

/** @param known what each imports. @returns the ways on which one comes back to itself */
function findCircles(known: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (file: string, way: readonly string[]): void => {
    const from = way.indexOf(file)
    if (from >= 0) circles.push([...way.slice(from), file].join(' → '))
    if (from >= 0 || done.has(file)) return
    for (const next of known.get(file) ?? []) visit(next, [...way, file])
    done.add(file)
  }
  for (const file of known.keys()) visit(file, [])
  return circles
}

t.test('no file and no room imports itself by way of others', async t => {
  const known = new Map(files.map(file => [file, importsOf(file)]))
  t.ok(known.size > 200, `${known.size} files`)
  t.same(findCircles(known), [])
  const roomsOf = (room: string) =>
    shipped
      .filter(file => roomOf(file) === room)
      .flatMap(file => importsOf(`src/${file}`).map(path => roomOf(relative('src', path))))
      .filter(other => other !== room)
  t.same(findCircles(new Map(Object.keys(MAY_IMPORT).map(room => [room, roomsOf(room)]))), [])
})

t.test('only the process and the command lines touch the process', async t => {
  const touching = files.filter(file => {
    const text = readFileSync(join(ROOT, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, '')
    return /\bprocess\.(?:env|exit|on|once|argv|kill|stdout|stderr|stdin|chdir)\b/.test(text)
  })
  t.same(touching.sort(), ['sandbox/main.ts', 'src/main.ts', 'src/service/process.ts'])
})

t.test('a name that is exported stands for one thing', async t => {
  const places = new Map<string, string[]>()
  for (const file of shipped) {
    const text = readFileSync(join(ROOT, 'src', file), 'utf8')
    for (const [, name = ''] of text.matchAll(
      /^export (?:async )?(?:function|const|class|interface|type) (\w+)/gm,
    ))
      places.set(name, [...(places.get(name) ?? []), file])
  }
  const twice = [...places].filter(([, at]) => at.length > 1)
  t.same(twice, [])
})

t.test('a type has a name and members of its own, and is not what some function happens to give', async t => {
  const borrows = (file: string) => readFileSync(join(ROOT, 'src', file), 'utf8').includes('ReturnType<')
  t.same(shipped.filter(borrows), [])
})
