import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import pack from '../../package.json' with { type: 'json' }
import { commandNames, runCommand } from '../../src/commands/run.ts'
import { createToken } from '../../src/commands/token.ts'
import { quote } from '../../src/language/sentence.ts'
import { formatBuild } from '../../src/runtime/build.ts'
import type { CheckResult } from '../../src/runtime/check-result.ts'
import { englishIn } from '../language/english.ts'
import { spawnService } from '../rigs/process.ts'
import { command } from './rig.ts'

const NAMES = commandNames

t.test('without a command, or with one that there is not, it says which there are', async t => {
  const nothing = await command([])
  t.equal(nothing.code, 2)
  t.match(nothing.err, 'callback-courier COMMAND')
  const wrong = await command(['sevre'])
  t.equal(wrong.code, 2)
  t.match(wrong.err, /^There is no command “sevre”\.\n\ncallback-courier COMMAND/)
  t.equal((await command(['constructor'])).code, 2)
  const asked = await command(['--help'])
  t.equal(asked.code, 0)
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
  t.match((await command(['urls', 'what'])).err, 'what is “what”?')
})

t.test('a page of help, and what is said of a setting, of each form', async t => {
  const names = ['CORP_ID', 'POST_SIGNATURE', 'QUOTAS', 'PLUGIN_SENDERS', 'EMAIL_TOKEN', 'SMTP_CONNECTIONS']
  const lines = ['--help', 'send --help', 'token --help', ...names.map(name => `settings ${name}`)]
  const said = await Promise.all(lines.map(async line => (await command(line.split(' '))).out))
  t.equal(said.join('\n'), readFileSync(join(import.meta.dirname, '../fixtures/help.txt'), 'utf8'))
})

t.test('a wrong command line is said with how the command is written, not with its page', async t => {
  const record = readFileSync(join(import.meta.dirname, '../fixtures/wrong-lines.txt'), 'utf8')
  for (const row of record.trimEnd().split('\n')) {
    const [line = '', why = ''] = row.split(' ⇒ ')
    const [name = ''] = line.split(' ')
    const { code, out, err } = await command(line.split(' '))
    t.same([code, out], [2, ''], line)
    const written = `\n\n  callback-courier ${name} .*\n\n“callback-courier ${name} --help” says more\\.\n$`
    t.match(err, new RegExp(`^callback-courier ${name}: ${why}${written}`), line)
  }
})

t.test('commands answer in the language of the terminal, or of the dotenv file', async t => {
  for (const name of NAMES) {
    const { out } = await command([name, '--help'], { LANG: 'zh_CN.UTF-8' })
    const { out: english } = await command([name, '--help'])
    t.notMatch((out + english).replace(/[\u2e80-\uffff]/g, 'xx'), /^.{119}/m, 'columns')
    const optionsIn = (text: string) => text.match(/^ {2}--[\w-]+/gm)
    t.same(optionsIn(out), optionsIn(english), name)
    t.same(
      englishIn(
        out.replaceAll(/^callback-courier.*\n|^ {2}--[\w-]+(?: [A-Z=]+)?|\b(?:email|sms) +\d/gm, ''),
        ['--topic'],
      ),
      [],
      name,
    )
    for (const line of out.split('\n')) t.ok(line.replaceAll(/\p{Script=Han}/gu, 'xx').length <= 120, line)
  }
  const { out } = await command(['--help'], { LANG: 'zh_CN.UTF-8' })
  t.match(out, /^ {2}urls +打印要粘贴到平台控制台的内容$/m)
  t.same(englishIn(out.replaceAll(/^callback-courier.*\n|^ {2}[a-z]+ /gm, '')), [])
  const own = await command(['--help'], { LC_ALL: 'en_US.UTF-8' }, 'LC_ALL=zh_CN.UTF-8')
  t.match(own.out, '\n  Delivers an IoT platform', 'the environment counts before the file')
  const directory = t.testdir({ '.env': 'LC_ALL=zh_CN.UTF-8\nCORP_ID=1\n' })
  const { exited, stderr } = spawnService(t, ['serve'], { LANG: 'en_US.UTF-8' }, { cwd: directory })
  t.equal(await exited, 1)
  t.match(stderr(), /^有 \d 项设置缺少或填错：\n {2}EMAIL_TOKEN 没有设置：设置它/)
  t.same(englishIn(stderr()), [])
})

t.test('says all that is wrong with the settings, and stops', async t => {
  for (const name of ['urls', 'check', 'send email --to a@example.com', 'preview --out no-such-folder']) {
    const { code, out, err } = await command(name.split(' '))
    t.equal(code, 1, name)
    for (const setting of ['CORP_ID', 'EMAIL_TOKEN', 'TLS_CERT_FILE']) t.match(out + err, setting)
  }
})

t.test('who has set nothing yet is told how to begin, and nobody else is', async t => {
  t.match(
    (await command(['urls'])).err,
    /\n\nNothing is set yet, .*Copy \.env\.example .*README\.md, “Run it”\.$/m,
  )
  t.match((await command(['urls'], { LANG: 'zh_CN.UTF-8' })).err, '请把 .env.example.zh-CN 复制为 .env')
  const unreadable = { EMAIL_TOKEN_FILE: '/nowhere' }
  for (const env of [{ CORP_ID: 'c1' }, unreadable])
    t.notMatch((await command(['urls'], env)).err, 'Nothing is set yet')
})

t.test('a Token is long, plain, and ends in a letter', async t => {
  const { code, out } = await command(['token'])
  t.equal(code, 0)
  t.match(out, /^[A-Za-z0-9]{31}[A-Za-z]\n$/)
  const many = Array.from({ length: 2000 }, () => createToken())
  t.equal(new Set(many).size, 2000)
  t.same([new Set(many.join('')).size, new Set(many.map(token => token.at(-1))).size], [62, 52])
  t.ok(many.every(token => /^[A-Za-z0-9]{31}[A-Za-z]$/.test(token)))
  t.equal(
    createToken(limit => limit - 1),
    `${'9'.repeat(31)}z`,
    'the last of each alphabet',
  )
})

t.test('as a process: its words on stdout, and its exit code', async t => {
  const { exited, stdout, stderr } = spawnService(t, ['token'], {}, { cwd: '/' })
  t.equal(await exited, 0)
  t.match(stdout(), /^[A-Za-z0-9]{32}\n$/)
  t.equal(stderr(), '')
  t.equal(await spawnService(t, ['nonsense'], {}, { cwd: '/' }).exited, 2)
})

t.test('a reader that goes away is no fault', async t => {
  const { child, exited } = spawnService(t, ['--help'], {}, { cwd: '/' })
  child.stdout?.destroy()
  t.equal(await exited, 0)
})

t.test('nothing that a command prints steers the terminal', async t => {
  const printed: string[] = []
  const out = { write: (text: string) => printed.push(text) }
  const hostile = 'a\x1b[2J\x07\u009b1m\u202eb\u2028\r'
  const io = { stdout: out, stderr: out, env: {}, readFile: () => '', dotenvPath: '.env' }
  t.equal(await runCommand([`x${hostile}`], io), 2)
  t.match(printed.join(''), /There is no command “xa\[2J1mb”\.\n/)
  t.equal(await runCommand(['send', hostile], io), 2)
  t.notMatch(printed.join(''), /(?![\n\t])[\p{Cc}\p{Cf}\u2028]/u)
})

t.test('for a program, check is well unless something fails', async t => {
  const { formatAsJson } = await import('../../src/commands/check.ts')
  const ok = (...levels: readonly CheckResult['is'][]) =>
    (JSON.parse(formatAsJson(levels.map(is => ({ is, about: 'a', what: quote('b') })))) as { ok: boolean }).ok
  t.same([ok('ok', 'warn'), ok('ok', 'fail', 'ok')], [true, false])
})

t.test('a line end in the words of a server begins no line of check', async t => {
  const { formatAsText } = await import('../../src/commands/check.ts')
  const server = {
    about: 'SMTP',
    is: 'fail',
    what: quote('it says: no\r\nok    all'),
    next: quote('a\nb'),
  } as const
  const robot = { about: 'sms callbacks', is: 'warn', what: quote('c') } as const
  const all = [server, robot, { about: 'a-long-name-of-one', is: 'ok', what: quote('d') }] as const
  t.equal(
    formatAsText(all, 'en'),
    'fail  SMTP            it says: no ok    all\n                      → a b\nwarn  sms callbacks   c\nok    a-long-name-of-one  d\n\n1 ok, 1 to look at, 1 failed\n',
  )
  t.match(formatAsText(all, 'zh-CN'), /\n注意 {2}短信 ?回调 +c\n[^]*\n1 项正常，1 项需要注意，1 项失败\n$/)
})
