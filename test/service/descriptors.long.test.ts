import { spawn } from 'node:child_process'
import { Agent, request } from 'node:http'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { deriveCallbackKey } from '../../src/callback/authenticate.ts'
import { COMPILED } from '../rigs/process.ts'
import { CORP_ID, EMAIL_TOKEN, mailBody, startSinks, until } from '../rigs/service.ts'

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const PATH = `/callback/${CORP_ID}/${deriveCallbackKey('email', CORP_ID, EMAIL_TOKEN)}/email`
const KEPT = 60

t.test('with 64 descriptors callers who come one more are answered 503, and /readyz says why', async t => {
  const sinks = await startSinks(t)
  const service = spawn('sh', ['-c', 'ulimit -n 64; exec "$0" "$@"', process.execPath, MAIN, 'serve'], {
    env: { ...COMPILED, ...sinks.settings, TLS: 'off' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.teardown(() => service.kill('SIGKILL'))
  const warned: string[] = []
  const { url, admin } = await new Promise<{ readonly url: string; readonly admin: string }>(resolve => {
    createInterface({ input: service.stdout }).on('line', line => {
      const { event, message, public: url, admin } = JSON.parse(line) as Record<string, string>
      if (event === 'setting') warned.push(String(message))
      if (event === 'started') resolve({ url: String(url), admin: String(admin) })
    })
  })
  t.ok(
    warned.some(line => line.startsWith('open files: 64 may be open at once')),
    'the start says so',
  )
  const post = (person: number, over?: Agent) =>
    new Promise<{ readonly status: number | undefined; readonly connection: string | undefined }>(
      (resolve, reject) => {
        const headers = { 'content-type': 'application/json' }
        const asking = request(`${url}${PATH}`, { method: 'POST', headers, agent: over ?? false }, answer => {
          answer.resume()
          const { statusCode: status, headers } = answer
          answer.on('end', () => resolve({ status, connection: headers.connection }))
        })
        asking.on('error', reject)
        asking.end(JSON.stringify(mailBody({ to: `p${person}@example.com` })))
      },
    )
  const ready = async () => {
    const answer = await fetch(`${admin}/readyz`, { headers: { connection: 'close' } })
    return { status: answer.status, body: await answer.text() }
  }
  await until(async () => (await ready()).status === 200, 'it is ready')

  // Those who are served keep their connections: descriptors get fewer with each.
  const idle: Agent[] = []
  t.teardown(() => idle.forEach(each => each.destroy()))
  let answered = { status: 200 as number | undefined, connection: '' as string | undefined }
  for (let n = 0; n < KEPT && answered.status === 200; n += 1) {
    const own = new Agent({ keepAlive: true })
    idle.push(own)
    answered = await post(n, own)
  }
  t.same(answered, { status: 503, connection: 'close' }, `after ${idle.length}`)
  t.match(await ready(), { status: 503, body: /too few files may be open: raise LimitNOFILE/ })
  for (let n = 0; n < 20; n += 1) t.equal((await post(100 + n)).status, 503, 'nobody is reset')
  t.ok(sinks.smtp.mails.length > 0, 'the mail server was reached')

  for (const each of idle) each.destroy()
  await until(async () => (await ready()).status === 200, 'ready again')
  t.equal((await post(200)).status, 200)
})
