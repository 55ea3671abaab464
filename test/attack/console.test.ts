import { Agent, get } from 'node:http'
import t from 'tap'
import { openRaw } from '../rigs/raw.ts'
import { type ServiceRig, startRig } from '../rigs/service.ts'

const ADMIN_TOKENS = 'an-Admin-token-of-some-length'

/** A request to the private listener. */
function ask(
  rig: ServiceRig,
  path: string,
  headers: Readonly<Record<string, string>>,
  agent: Agent | false = false,
): Promise<{ readonly status: number; readonly localPort: number | undefined }> {
  const { hostname: host, port } = new URL(rig.service().adminUrl)
  const options = { host, port, path, agent, headers: { host: `localhost:${port}`, ...headers } }
  return new Promise((resolve, reject) => {
    get(options, response => {
      const { localPort } = response.socket
      response.resume().on('end', () => resolve({ status: response.statusCode ?? 0, localPort }))
    }).on('error', reject)
  })
}

t.test('connections that idle shut nobody out', async t => {
  const rig = await startRig(t, { ADMIN_TOKENS })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const authorization = `Bearer ${ADMIN_TOKENS}`
  const known = await ask(rig, '/metrics', { authorization }, agent)
  let open = 0
  const idle = async () => {
    const raw = await openRaw(rig.service().adminUrl)
    t.teardown(() => raw.socket.destroy())
    raw.socket.once('close', () => (open -= 1))
    raw.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
    await raw.says(/^HTTP\/1\.1 200 /)
    open += 1
  }
  for (let n = 0; n < 700; n += 100) await Promise.all(Array.from({ length: 100 }, idle))
  t.ok(open <= 500, `${open} of 700 are open still`)
  t.equal((await ask(rig, '/healthz', {})).status, 200, 'a probe')
  t.equal((await ask(rig, '/metrics', { authorization })).status, 200, 'a new connection with the token')
  const { status, localPort } = await ask(rig, '/metrics', { authorization }, agent)
  t.same([status, localPort], [200, known.localPort], 'a connection that had the token before them')
})

t.test('who does not wait for an answer is hung up on, unless it has a token', async t => {
  const rig = await startRig(t, { ADMIN_TOKENS })
  const head = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`
  for (const request of [head('/healthz'), head('/console'), head('/healthz', 'Expect: whatever\r\n')]) {
    const raw = await openRaw(rig.service().adminUrl)
    raw.write(request.repeat(500))
    t.ok(((await raw.ended()).match(/HTTP\/1\.1/g) ?? []).length <= 1)
  }
  const operator = await openRaw(rig.service().adminUrl)
  operator.write(head('/metrics', `Authorization: Bearer ${ADMIN_TOKENS}\r\n`))
  await operator.says(/HTTP\/1\.1 200 /)
  operator.write(head('/healthz').repeat(3))
  await operator.says(/(HTTP\/1\.1 200 [^]*){4}/)
  operator.socket.destroy()
})

t.test(
  'without a password no user of this machine gets the callback URLs or a copy of the store',
  async t => {
    const rig = await startRig(t)
    const { adminUrl, urls } = rig.service()
    const [key = ''] = /(?<=corp-100fa4b2\/)[^/]+/.exec(urls.email ?? '') ?? []
    t.ok(key.length > 20)
    for (const [path, method] of [
      ['/console/urls', 'GET'],
      ['/backup', 'POST'],
    ] as const) {
      const answer = await fetch(`${adminUrl}${path}`, { method })
      t.equal(answer.status, 403, path)
      const text = await answer.text()
      t.match(text, /every user of this machine could|only an operator may do this: set ADMIN_TOKENS/)
      t.notMatch(text, key)
    }
    for (const path of ['/console', '/console/send', '/metrics', '/api/calls', '/api/providers'])
      t.notMatch(await (await fetch(`${adminUrl}${path}`)).text(), key, path)
    t.ok(
      rig
        .events()
        .some(
          ({ event, message }) =>
            event === 'setting' && String(message).startsWith('ADMIN_TOKENS is not set'),
        ),
      'the start says what is open',
    )
  },
)
