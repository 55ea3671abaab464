import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import t from 'tap'
import { ERR_CODES } from '../../src/callback/answers.ts'
import { commandNames } from '../../src/commands/run.ts'
import { settingNames } from '../../src/config/settings.ts'
import { callbackKinds } from '../../src/messages/kinds.ts'
import { enough, load } from '../config/settings.ts'

const root = resolve(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(resolve(root, path), 'utf8')
const README = read('README.md')
const READINGS = read('docs/contract-readings.md')

const PAGES = [...globSync('*.md', { cwd: root }), ...globSync('docs/**/*.md', { cwd: root })]

/** Where a page's links and pictures lead, from the root; without code, in which brackets mean other things. */
function linksOf(page: string): readonly { readonly file: string; readonly part: string }[] {
  const text = read(page).replaceAll(/^```[\s\S]*?^```/gm, '')
  return [...text.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)#?([^)\s]*)\)/g)].map(
    ([, file = '', part = '']) => ({
      file: file === '' ? page : relative(root, resolve(root, dirname(page), file)),
      part,
    }),
  )
}

/** What a heading is called in an address, as GitHub makes it. */
const partsOf = (page: string) =>
  [...read(page).matchAll(/^#{1,6} (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-'),
  )

t.test('every link and picture leads to a file, and to a part that it has', async t => {
  t.ok(PAGES.length > 10)
  for (const page of PAGES) {
    for (const { file, part } of linksOf(page)) {
      if (!t.ok(existsSync(resolve(root, file)), `${page}: ${file}`) || part === '') continue
      t.ok(partsOf(file).includes(part), `${page}: ${file}#${part}`)
    }
  }
})

t.test('every page is linked, and every picture shown', async t => {
  const linked = new Set(
    PAGES.flatMap(page => linksOf(page).filter(({ file }) => file !== page)).map(({ file }) => file),
  )
  for (const page of globSync('docs/**/*.md', { cwd: root })) t.ok(linked.has(page), page)
  for (const picture of globSync('docs/images/*', { cwd: root })) t.ok(linked.has(picture), picture)
})

t.test('the answers listed for operators are the ones that are given', async t => {
  const listed = new Set(READINGS.match(/\b[245]\d{6}\b/g)?.map(Number))
  t.same(listed, new Set(Object.values(ERR_CODES).filter(code => code !== 0)))
})

t.test('the kinds listed for operators are the ones that there are, with what they need', async t => {
  for (const { channel, type, name, required } of callbackKinds) {
    const row = new RegExp(`^\\| ${type} \\| \`${name}\` \\|([^|]*)\\|`, 'm').exec(READINGS)
    t.ok(row, `${channel} ${type} ${name}`)
    t.same(row?.[1]?.match(/\w+/g) ?? [], required, name)
  }
})

t.test(
  'the examples that the READMEs copy are enough, filled in for e-mail alone, and with Twilio',
  async t => {
    const given: Readonly<Record<string, string>> = {
      ...enough,
      PUBLIC_URL: 'https://courier.example.com:8443',
      TLS_CERT_FILE: '/certs/fullchain.pem',
      TLS_KEY_FILE: '/certs/privkey.pem',
    }
    const fill = (example: string, leave: RegExp) =>
      read(example).replaceAll(/^(\w+)=$/gm, (line, name) =>
        leave.test(name) ? line : `${line}${given[name] ?? ''}`,
      )
    for (const example of ['.env.example', '.env.example.zh-CN']) {
      const page = example.replace('.env.example', 'README').replace(/(?:\.zh-CN)?$/, '$&.md')
      t.match(read(page), `cp ${example} .env`)
      const mail = load({ ADMIN_HOST: '0.0.0.0' }, { '.env': fill(example, /SMS|TWILIO/) })
      t.same(mail.warnings, [], example)
      t.equal(mail.PUBLIC_URL, given['PUBLIC_URL'])
    }
    t.same(load({ ADMIN_HOST: '0.0.0.0' }, { '.env': fill('.env.example', /^$/) }).warnings, [])
  },
)

t.test('settings and commands that the docs name exist', async t => {
  const commands = PAGES.flatMap(page =>
    [...read(page).matchAll(/(?:`(?:callback-)?|^(?:\$ )?)courier ([a-z]+)\b/gm)].map(
      ([, name = '']) => name,
    ),
  )
  t.ok(commands.length > 20)
  const there = new Set<string>(commandNames)
  t.same(
    commands.filter(name => !there.has(name)),
    [],
  )
  const known = new Set<string>([...settingNames, 'LC_ALL', 'NODE_IMAGE'])
  for (const text of [README, READINGS])
    for (const [name] of text.matchAll(/\b[A-Z]+(?:_[A-Z0-9]+)+\b/g)) t.ok(known.has(name), name)
})
