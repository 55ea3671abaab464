import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'

const ROOT = resolve(import.meta.dirname, '../../..')
const NODEMAILER = join(ROOT, 'node_modules/nodemailer')

function readTree(folder: string, end: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith(end))
    .map(path => readFileSync(join(folder, path), 'utf8'))
}

/** The members of nodemailer's own that it does not publish: it begins their names with an underscore. */
const unpublished = new Set(
  readTree(join(NODEMAILER, 'dist/esm'), '.js').flatMap(text =>
    [...text.matchAll(/\bthis\.(_\w+)/g)].map(([, name]) => name),
  ),
)
const users = readTree(join(ROOT, 'src'), '.ts').filter(text => text.includes("'nodemailer"))

t.test('at most two members are used that nodemailer does not publish', async t => {
  t.ok(unpublished.has('_onData') && unpublished.has('_socket') && users.length > 1, 'they are looked for')
  const used = users.flatMap(text => text.match(/(?<!\w)_\w+/g) ?? []).filter(name => unpublished.has(name))
  t.strictSame([...new Set(used)], ['_onData'])
})

t.test('what is imported of nodemailer are the modules that it names in its package', async t => {
  const { exports } = JSON.parse(readFileSync(join(NODEMAILER, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, unknown>>
  }
  for (const text of users)
    for (const [, module = ''] of text.matchAll(/from 'nodemailer(\/[^']+)?'/g))
      t.ok(Object.hasOwn(exports, `.${module}`), module)
})
