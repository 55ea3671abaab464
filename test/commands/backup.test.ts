import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'
import t from 'tap'
import { startService } from '../../src/service/service.ts'
import { listen } from '../rigs/listen.ts'
import { until } from '../rigs/service.ts'
import { command, running } from './rig.ts'

t.test('a backup of a running service, restored on another machine, sends what waited', async t => {
  const { env, standIns, close } = await running(t, { ADMIN_TOKENS: 'a-password-of-this-test' })
  standIns.setFault('email', 'later')
  const sent = await command(['send', 'email', '--to', 'ann@example.com', '--type', '5', '--local'], env)
  t.equal(sent.code, 0, sent.out)
  const file = join(t.testdirName, 'backup.db')
  const { code, out, err } = await command(['backup', file], env)
  t.equal(code, 0, err)
  const store = (env['DATABASE_URL'] ?? '').slice('file:'.length)
  t.match(out, `Keep ${join(dirname(store), 'store.secret')} apart`)
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.notOk(readFileSync(file).includes('ann@example.com'), 'what waits is encrypted in it')
  t.same(
    readdirSync(dirname(store)).filter(name => name.includes('backup')),
    [],
    'nothing is left behind',
  )
  t.match(await command(['backup', file], env), { code: 1, err: /exists: name a new file/ })
  const stranger = { ...env, ADMIN_TOKENS: 'another-password-of-nobody' }
  t.match(await command(['backup', `${file}2`], stranger), { code: 1, err: /says 401/ })
  t.notOk(existsSync(`${file}2`))
  await close()
  t.match(await command(['backup', `${file}2`], env), {
    code: 1,
    err: /nobody answers at .*: start the service; while it does not run, the store’s files can be copied/,
  })

  const restored = join(t.testdirName, 'elsewhere/outbox.db')
  mkdirSync(dirname(restored))
  cpSync(file, restored)
  cpSync(join(dirname(store), 'store.secret'), join(dirname(restored), 'store.secret'))
  standIns.setFault('email', 'none')
  standIns.clear()
  const service = await startService({ ...env, PORT: '0', ADMIN_PORT: '0', DATABASE_URL: `file:${restored}` })
  t.teardown(() => service.close())
  const listed = await fetch(`${service.adminUrl}/console/messages`, {
    headers: { authorization: 'Bearer a-password-of-this-test' },
  })
  t.match(await listed.text(), 'a***@example.com')
  const retried = await command(['send', 'email', '--to', 'bob@example.com', '--type', '1', '--local'], {
    ...env,
    PORT: new URL(service.publicUrl).port,
  })
  t.equal(retried.code, 0, 'and it works on')
  await until(() => standIns.mails().length === 2, 'the message that waited goes out')
})

t.test('a file that somebody else makes meanwhile is left to them', async t => {
  const file = join(t.testdir(), 'backup.db')
  const server = createServer((_request, response) => {
    writeFileSync(file, 'of another backup')
    response.end('a copy')
  })
  const port = await listen(t, server)
  const env = { ADMIN_PORT: String(port) }
  t.match(await command(['backup', file], env), { code: 1, err: /exists: name a new file/ })
  t.equal(readFileSync(file, 'utf8'), 'of another backup')
})

t.test('a copy that is cut off leaves no file; a secret of its own is named', async t => {
  const file = join(t.testdir(), 'backup.db')
  let cut = true
  const server = createServer((_request, response) => {
    if (cut) response.writeHead(200, { 'content-length': 20 }).write('half', () => response.destroy())
    else response.end('a copy')
  })
  const port = await listen(t, server)
  const env = { ADMIN_PORT: String(port), STORE_SECRET: 'a-long-random-text-of-ones-own' }
  t.match(await command(['backup', file], env), { code: 1, err: /cannot be written/ })
  t.notOk(existsSync(file))
  cut = false
  t.match(await command(['backup', file], env), { code: 0, out: /Keep the value of STORE_SECRET apart/ })
})

t.test('a Postgres has tools of its own, and a store that takes no copy says why', async t => {
  const shared = { DATABASE_URL: 'postgres://courier:canary-pass@127.0.0.1:9/x' }
  const { code, err } = await command(['backup', '/nowhere/x'], shared)
  t.equal(code, 1)
  t.match(err, /pg_dump --format=custom/)
  t.notMatch(err, 'canary-pass')
  const { env } = await running(t, { ADMIN_TOKENS: 'a-password-of-this-test' })
  t.match(await command(['backup', '/nowhere/backup.db'], env), { code: 1, err: /cannot be written/ })
  t.match(await command(['backup'], env), { code: 2, err: /something is missing/ })
})
