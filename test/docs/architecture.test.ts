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

t.test('every function that stands behind a file is in it', async t => {
  // "Which is wrong? `src/a.ts` `one`, `two`; and too old: `src/b.ts` `three`", on as many lines as it takes.
  const lists = PAGE.slice(PAGE.indexOf('## Roads'), PAGE.indexOf('## Glossary'))
  let found = 0
  for (const [item] of lists.matchAll(/^(?:-|\d+\.) .*(?:\n {2,}.*)*/gm)) {
    let file: string | undefined
    for (const [, code = ''] of item.matchAll(/`([^`\n]+)`/g)) {
      if (code.startsWith('src/')) file = code
      else if (file !== undefined && /^\w+$/.test(code)) {
        found += 1
        t.match(read(file), new RegExp(`\\b${code}\\b`), `${file}: ${code}`)
      }
    }
  }
  t.ok(found > 130, `${found} functions`)
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
