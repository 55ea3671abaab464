import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import t from 'tap'

const ROOT = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const PAGE = read('docs/architecture.md')
const rooms = readdirSync(join(ROOT, 'src'), { withFileTypes: true })
  .filter(entry => entry.isDirectory())
  .map(({ name }) => name)

/** The contents of a text's code spans that are paths from the root: with a slash in them, or a file of the root. */
function pathsIn(text: string): readonly string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)]
    .map(([, code = '']) => code)
    .filter(code =>
      /^(?:src|sandbox|test|bench|docker|docs|\.ci)\/[\w./-]*$|^(?:[A-Z]+\.md|package(?:-lock)?\.json)$/.test(
        code,
      ),
    )
}

t.test('every path that a page names is there', async t => {
  for (const page of globSync(['*.md', 'docs/**/*.md'], { cwd: ROOT }))
    for (const path of new Set(pathsIn(read(page)))) t.ok(existsSync(join(ROOT, path)), `${page}: ${path}`)
  for (const page of ['docs/architecture.md', 'CONTRIBUTING.md']) t.ok(pathsIn(read(page)).length > 5, page)
})

t.test('every function that stands beside a file is in it', async t => {
  let found = 0
  for (const [, files = '', names = ''] of PAGE.matchAll(/^\|[^|\n]*\|([^|\n]*)\|([^|\n]*)\|$/gm)) {
    const [file] = pathsIn(files)
    if (file === undefined) continue
    for (const [, name = ''] of names.matchAll(/`(\w+)`/g)) {
      found += 1
      t.match(read(file), new RegExp(`\\b${name}\\b`), `${file}: ${name}`)
    }
  }
  t.ok(found > 40, `${found} functions`)
})

t.test('the examples of CONTRIBUTING.md are the code', async t => {
  const examples = [...read('CONTRIBUTING.md').matchAll(/`(src\/[\w./-]+)`:\n\n```ts\n([\s\S]*?)```/g)]
  t.equal(examples.length, 3)
  for (const [, file = '', code = ''] of examples) t.ok(read(file).includes(code), file)
})

t.test('every room has its row', async t => {
  for (const room of rooms) t.match(PAGE, new RegExp(`^\\| \`src/${room}/\` \\| \\w`, 'm'))
})

t.test('the drawing shows the imports between the rooms, and no others', async t => {
  const drawn = [...PAGE.matchAll(/^ {4}(\w+) --> (.*)$/gm)].flatMap(([, from = '', to = '']) =>
    to.split(' & ').map(each => `${from} → ${each}`),
  )
  const imports = new Set<string>()
  for (const file of globSync('src/**/*.ts', { cwd: ROOT })) {
    const room = file.split('/')[1] ?? ''
    for (const [, path = ''] of read(file).matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+\.ts)'/g)) {
      const other = relative(ROOT, resolve(ROOT, dirname(file), path)).split('/')[1] ?? ''
      if (other !== room && other !== 'runtime' && other !== 'language') imports.add(`${room} → ${other}`)
    }
  }
  const between = [...imports].filter(arrow => !/^(?:service|commands|main\.ts) /.test(arrow))
  t.same(drawn.sort(), between.sort())
})
