import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'
import { countExpected, formatResults, listFaults, sendEachKindOnce } from '../../sandbox/once.ts'
import { startSandbox } from '../../sandbox/sandbox.ts'
import { loadStandIn } from '../../sandbox/stand-ins.ts'
import { callbackKinds } from '../../src/messages/kinds.ts'
import { providerModules } from '../../src/providers/list.ts'
import { spawnService } from '../rigs/process.ts'
import { runHere } from './command-here.ts'

const root = resolve(import.meta.dirname, '../..')
/** For what has to arrive: whatever else the machine does, it does. */
const PATIENT_MS = 600_000
const ports = { callbacks: 0, admin: 0, page: 0 }

t.test('one run plays every kind, finds each once and leaves only what it was told to keep', async t => {
  const directory = t.testdir()
  const kept = join(directory, 'kept')
  const { out, err, code, left } = await runHere(t, directory, ['--once', '--save', kept])
  t.equal(err, '')
  t.equal(code, 0, out)
  const rows = out.split('\n')
  const modules = providerModules.filter(({ channel, isByRoute }) => channel === 'sms' && isByRoute !== true)
  const carriers = await Promise.all(modules.map(async ({ name }) => (await loadStandIn(name)).title))
  const countRows = (pattern: string) => rows.filter(row => new RegExp(pattern).test(row)).length
  for (const { channel, name } of callbackKinds)
    for (const by of channel === 'email' ? ['-'] : carriers) {
      const file = `${kept}/${channel}-${name}${by === '-' ? '' : `-${by.toLowerCase()}`}\\.`
      t.equal(countRows(`^${channel} +${name} +${by} +0 +\\d+ +once +${file}`), 1, `${name} by ${by}`)
    }
  t.equal(countRows('^email +plain +- +0 +\\d+ +once '), 1)
  t.equal(countRows('^sms +plain +Twilio +0 +\\d+ +once '), 1, 'a text that no template says')
  for (const channel of ['email', 'sms']) t.equal(countRows(`^${channel} +validate +- +0 +\\d+ +-$`), 1)
  t.match(out, `All ${countRows(' once ')} messages arrived exactly once`)
  t.match(await readFile(join(kept, 'sms-login-code-aliyun.txt'), 'utf8'), /^【示例科技】您的验证码为\d{6}/)
  t.same(left, ['kept'])
  t.match(await readFile(join(kept, 'email-phone-change.eml'), 'utf8'), 'To: reader-3@example.com')
})

t.test(
  'what does not arrive as it should is said, and how; what the service insists on, the platform does',
  async t => {
    // Longer than a busy machine takes: each answer is the verdict, and each kind is sent.
    const settings = { ANSWER_WITHIN_MS: '20000', POST_SIGNATURE: 'required', LOCALE: 'zh-CN' }
    const stage = await startSandbox({ ports, settings })
    t.teardown(() => stage.close())
    t.ok(stage.standIns.setFault('email', 'recipient'))
    const rows = await sendEachKindOnce(stage, PATIENT_MS)
    const wrong = listFaults(rows, countExpected(stage.standIns))
    const mails = callbackKinds.filter(kind => kind.channel === 'email').length + 1
    t.equal(wrong.filter(line => /^email .*: answered HTTP 400, err_code 4002012/.test(line)).length, mails)
    t.equal(wrong.filter(line => /^email .*: no mail arrived$/.test(line)).length, mails)
    t.equal(wrong.filter(line => line.startsWith('sms')).length, 0)
    t.match(formatResults(rows, []), /^email {4}file +- +4002012 +\d+ +WRONG$/m)
    t.match(stage.standIns.sms()[0]?.body, /验证码/)
  },
)

t.test('a setting that is wrong ends the start in a sentence, and everything that was started', async t => {
  await t.rejects(startSandbox({ ports, settings: { SMTP_URL: 'nowhere' } }), { message: /SMTP_URL/ })
})

t.test('without dev dependencies it says what to install', async t => {
  // Outside of the checkout, where no module is found by looking upwards.
  const directory = await mkdtemp(join(tmpdir(), 'callback-courier-test-'))
  t.teardown(() => rm(directory, { recursive: true }))
  for (const part of ['src', 'sandbox'])
    await cp(join(root, part), join(directory, part), { recursive: true })
  await cp(join(root, 'package.json'), join(directory, 'package.json'))
  await mkdir(join(directory, 'node_modules'))
  const { dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  for (const name of Object.keys(dependencies)) {
    await mkdir(join(directory, 'node_modules', name, '..'), { recursive: true })
    await symlink(join(root, 'node_modules', name), join(directory, 'node_modules', name))
  }
  const env = { PATH: process.env['PATH'] ?? '', TMPDIR: directory }
  const main = join(directory, 'sandbox/main.ts')
  const { exited, stdout, stderr } = spawnService(t, ['--once'], env, { main, cwd: directory })
  t.equal(await exited, 2)
  t.equal(stdout(), '')
  t.match(stderr(), /^The sandbox needs the development dependencies.*npm ci.*\n$/)
})

t.test('a wrong option is refused with the usage', async t => {
  const { err, code } = await runHere(t, t.testdir({}), ['--port', 'x'])
  t.equal(code, 2)
  t.match(err, /--port must be a port number/)
})
