import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttps } from 'node:https'
import t, { type Test } from 'tap'
import { createCertificate } from '../../sandbox/certificate.ts'
import {
  type CallbackClientOptions,
  computeSignature,
  createCallbackClient,
} from '../../src/commands/callback-client.ts'
import { listen } from '../rigs/listen.ts'

const credentials = { corpId: '100fa4b2c3d4e5f6', token: 'bVq3xGm7RzKp2wTnYh8LdJfs' }
const certificate = await createCertificate(Date.now())

function platform(t: Test, options: CallbackClientOptions = {}) {
  const made = createCallbackClient(options)
  t.teardown(() => made.close())
  return made
}

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown

async function serving(t: Test, handler: Handler): Promise<string> {
  return `http://127.0.0.1:${await listen(
    t,
    createHttp((request, response) => void handler(request, response)),
  )}`
}

t.test('the signature is SHA1 over corp_id, Token and timestamp', async t => {
  // printf 100fa4b2c3d4e5f6bVq3xGm7RzKp2wTnYh8LdJfs1795219200 | sha1sum
  t.equal(computeSignature(credentials, '1795219200'), '1b4b681248914c4df4434c68714fd43cca9f41cf')
})

t.test('it says who asks, and keeps the beginning of a long answer', async t => {
  const agents: unknown[] = []
  const base = await serving(t, (request, response) => {
    agents.push(request.headers['user-agent'])
    response.end(`{"err_code":4002012,"more":"${'x'.repeat(3000)}"}`)
  })
  t.match(await platform(t).post(base, {}), { errCode: 4_002_012, body: /^\{.{1999}$/ })
  const waits: number[] = []
  t.intercept(AbortSignal, 'timeout', { value: (ms: number) => void waits.push(ms) })
  await platform(t, { userAgent: 'another' }).post(base, {})
  t.same(waits, [10_000])
  t.same(agents, ['callback-courier-send', 'another'])
})

t.test('an answer that is no err_code is an answer without one', async t => {
  for (const body of ['', '<html>', 'null', '[]', '{"err_code":"0"}', '{"err_code":0.5}']) {
    const base = await serving(t, (_request, response) => response.end(body))
    t.match(await platform(t).post(base, {}), { is: 'answered', status: 200, errCode: null, body })
  }
})

t.test('a service that is absent, not trusted or silent is unreachable, each with its reason', async t => {
  const gone = await serving(t, () => {})
  const silent = platform(t, { timeoutMs: 200 })
  t.match(await silent.post(gone, {}), { is: 'unreachable', why: /time/i })
  t.match(await platform(t).post('http://127.0.0.1:1/', {}), {
    is: 'unreachable',
    why: /ECONNREFUSED/,
    certificateRefused: false,
  })

  t.match(await platform(t).post('', {}), { is: 'unreachable', why: /Invalid URL/ })

  const server = createHttps(certificate, (_request, response) => response.end('{"err_code":0,"err_msg":""}'))
  const url = `https://127.0.0.1:${await listen(t, server)}/`
  t.match(await platform(t).post(url, {}), {
    is: 'unreachable',
    why: /self-signed|unable to verify/,
    certificateRefused: true,
  })
  t.match(await platform(t, { ca: certificate.cert }).post(url, {}), { is: 'answered', errCode: 0 })
  t.match(await platform(t, { insecure: true }).post(url, {}), { is: 'answered', errCode: 0 })
})
