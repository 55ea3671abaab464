import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'

interface Locked {
  readonly version: string
  readonly integrity?: string
  readonly resolved?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly hasInstallScript?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const root = resolve(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const manifest = JSON.parse(read('package.json')) as Record<string, Readonly<Record<string, string>>>
const lock = JSON.parse(read('package-lock.json')) as { readonly packages: Readonly<Record<string, Locked>> }
const locked = Object.entries(lock.packages).filter(([path]) => path !== '')
const direct = Object.keys(manifest['dependencies'] ?? {})

/** Versions below these have faults that this service would have, too; docs/decisions/dependencies.md says which. */
const LEAST = { nodemailer: '10.4.1', fastify: '5.12.2', liquidjs: '10.27.2', 'linkify-it': '5.0.2' }

const numbers = (version: string) => version.split('.').map(Number)
function isAtLeast(version: string, least: string): boolean {
  const [a, b] = [numbers(version), numbers(least)]
  for (const [at, number] of a.entries()) if (number !== b[at]) return number > (b[at] ?? 0)
  return true
}

t.test('nothing runs when packages are installed, so --ignore-scripts loses nothing', async t => {
  t.same(
    locked.filter(([, each]) => each.hasInstallScript === true).map(([path]) => path),
    [],
  )
})

t.test('every package, of whatever platform, is one fixed file', async t => {
  for (const [path, { integrity, resolved }] of locked) {
    t.match(integrity, /^sha512-[A-Za-z0-9+/]{86}==$/, path)
    if (resolved !== undefined && !resolved.startsWith('https://')) t.fail(`${path} comes from elsewhere`)
  }
  for (const set of ['dependencies', 'devDependencies', 'optionalDependencies'])
    for (const [name, version] of Object.entries(manifest[set] ?? {}))
      t.match(version, /^\d+\.\d+\.\d+$/, name)
})

t.test('the least versions of what faces strangers', async t => {
  for (const [name, least] of Object.entries(LEAST)) {
    for (const [path, { version }] of locked.filter(([path]) => path.endsWith(`node_modules/${name}`)))
      t.ok(isAtLeast(version, least), `${path} ${version}`)
    t.match(read('docs/decisions/dependencies.md'), `${name} ≥ ${least}`)
  }
  t.notOk(isAtLeast('10.4.0', '10.4.1') || isAtLeast('9.99.9', '10.0.0'))
  t.ok(isAtLeast('10.10.0', '10.9.9'))
})

t.test('every dependency is imported, and has its reason in docs/decisions/dependencies.md', async t => {
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.ts'))
    .map(path => read(join('src', path)))
    .join('\n')
  const docs = read('docs/decisions/dependencies.md')
  for (const name of direct) {
    t.match(sources, new RegExp(`(from|import\\() ?'${name}['/]`), name)
    t.match(docs, `| \`${name}\` |`)
  }
  for (const [, name = ''] of docs.matchAll(/^\| `([@\w/.-]+)` \|/gm))
    t.ok(direct.includes(name), `${name} is one`)
})

t.test('npm ci finds every optional binary in the lockfile, or it refuses to install anything', async t => {
  for (const [path, { optionalDependencies = {} }] of Object.entries(lock.packages))
    for (const name of Object.keys(optionalDependencies))
      t.ok(
        lock.packages[`${path}/node_modules/${name}`] ?? lock.packages[`node_modules/${name}`],
        `${path || 'the project'} → ${name}`,
      )
})
