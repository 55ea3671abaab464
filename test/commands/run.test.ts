import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import pack from '../../package.json' with { type: 'json' }
import { runCommand } from '../../src/commands/run.ts'
import { createToken } from '../../src/commands/token.ts'
import { formatBuild } from '../../src/runtime/build.ts'
import { COMPILED } from '../rigs/process.ts'
import { command } from './rig.ts'

const MAIN = resolve(import.meta.dirname, '../../src/main.ts')
const NAMES = ['serve', 'check', 'urls', 'token', 'send', 'preview', 'backup', 'health', 'ddq']

t.test('without a command, or with one that there is not, it says which there are', async t => {
  const nothing = await command([])
  t.equal(nothing.code, 2)
  t.match(nothing.err, 'callback-courier COMMAND')
  const wrong = await command(['sevre'])
  t.equal(wrong.code, 2)
  t.match(wrong.err, /^There is no command "sevre"\.\n\ncallback-courier COMMAND/)
  t.equal((await command(['constructor'])).code, 2)
  const asked = await command(['--help'])
  t.equal(asked.code, 0)
  for (const name of NAMES) t.match(asked.out, new RegExp(`^ {2}${name} +\\w`, 'm'))
})

t.test('--version says what this is', async t => {
  const { code, out, err } = await command(['--version'])
  t.same({ code, out, err }, { code: 0, out: `callback-courier ${pack.version}\n`, err: '' })
  t.equal(formatBuild({ version: '1.2.3', commit: '0123abc' }), '1.2.3 (0123abc)')
})

t.test('every command says what it does, and refuses what it does not know', async t => {
  for (const name of NAMES) {
    const help = await command([name, '--help'])
    t.equal(help.code, 0)
    t.match(help.out, new RegExp(`^callback-courier ${name}`))
    t.equal(help.err, '')
    const wrong = await command([name, '--no-such-option'])
    t.equal(wrong.code, 2, name)
    t.match(wrong.err, /no-such-option/)
    t.match(wrong.err, `callback-courier ${name}`)
  }
  t.match((await command(['urls', 'what'])).err, 'what is "what"?')
  t.match(
    (await command(['send', 'email'])).err,
    /--to is missing\n$/,
    'the reason stands last, where it is seen',
  )
})

t.test('says all that is wrong with the settings, and stops', async t => {
  for (const name of ['urls', 'check', 'send email --to a@example.com', 'preview --lint']) {
    const { code, out, err } = await command(name.split(' '))
    t.equal(code, 1, name)
    for (const setting of ['CORP_ID', 'EMAIL_TOKEN', 'TLS_CERT_FILE']) t.match(out + err, setting)
  }
})

t.test('a Token is long, plain, and ends in a letter', async t => {
  const { code, out } = await command(['token'])
  t.equal(code, 0)
  t.match(out, /^[A-Za-z0-9]{31}[A-Za-z]\n$/)
  const many = Array.from({ length: 200 }, () => createToken())
  t.equal(new Set(many).size, 200)
  t.ok(many.every(token => /^[A-Za-z0-9]{31}[A-Za-z]$/.test(token)))
  t.equal(
    createToken(limit => limit - 1),
    `${'9'.repeat(31)}z`,
    'the last of each alphabet',
  )
})

t.test('as a process: its words on stdout, its exit code, and a reader that goes away', async t => {
  const env = { ...COMPILED, PATH: process.env['PATH'] }
  const run = promisify(execFile)
  const { stdout, stderr } = await run(process.execPath, [MAIN, 'token'], { env, cwd: '/' })
  t.match(stdout, /^[A-Za-z0-9]{32}\n$/)
  t.equal(stderr, '')
  await t.rejects(run(process.execPath, [MAIN, 'nonsense'], { env, cwd: '/' }), { code: 2 })
  const gone = `"${process.execPath}" "${MAIN}" --help | true; exit \${PIPESTATUS[0]}`
  await t.resolves(run('bash', ['-c', gone], { env, cwd: '/' }))
})

t.test('serve says on stderr what stops it', async t => {
  const run = promisify(execFile)
  const env = { ...COMPILED, PATH: process.env['PATH'], CORP_ID: 'c' }
  await t.rejects(run(process.execPath, [MAIN, 'serve'], { env, cwd: '/' }), {
    code: 1,
    stdout: '',
    stderr: /^3 settings are missing or wrong:\n {2}EMAIL_TOKEN is missing/,
  })
})

t.test('nothing that a command prints steers the terminal', async t => {
  const printed: string[] = []
  const out = { write: (text: string) => printed.push(text) }
  const hostile = 'a\x1b[2J\x07\u009b1m\u202eb\u2028\r'
  const io = { stdout: out, stderr: out, env: {}, readFile: () => '', dotenvPath: '.env' }
  t.equal(await runCommand([`x${hostile}`], io), 2)
  t.match(printed.join(''), /There is no command "xa\[2J1mb"\.\n/)
  t.equal(await runCommand(['send', hostile], io), 2)
  t.notMatch(printed.join(''), /(?![\n\t])[\p{Cc}\p{Cf}\u2028]/u)
})

t.test('a line end in the words of a server begins no line of check', async t => {
  const { formatAsText } = await import('../../src/commands/check.ts')
  const text = formatAsText([{ about: 'SMTP', is: 'fail', what: 'it says: no\r\nok    all' }], 'en')
  t.match(text, /^fail {2}SMTP +it says: no ok {4}all\n/)
})
