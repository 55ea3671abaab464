import net from 'node:net'
import t, { type Test } from 'tap'
import twilio from 'twilio'
import { createTwilioApi, type TwilioApi, type TwilioSdk } from '../../../src/providers/twilio-sdk.ts'
import { listen } from '../../rigs/listen.ts'
import { ACCOUNT_SID, AUTH_TOKEN, startTwilioServer } from '../../rigs/twilio-server.ts'
import { NUMBER, SENDER, twilioError } from './rig.ts'

/** None is tried here, and a busy machine takes its time. */
const limits = { connectMs: 15_000, answerMs: 15_000, bodyMs: 15_000 }

const LOGIN = { accountSid: ACCOUNT_SID, user: ACCOUNT_SID, secret: AUTH_TOKEN }

function open(t: Test, baseUrl: string): TwilioApi {
  const api = createTwilioApi(LOGIN, { baseUrl, connections: 1, limits, clock: { now: Date.now } })
  t.teardown(async () => api.close())
  return api
}

const MESSAGE = { to: NUMBER, ...SENDER, body: 'a b&c=d+é\n', statusCallback: undefined }
const create = ({ messages }: TwilioSdk) => messages.create(MESSAGE)

/** A bare TCP server; `talk` gets each connection. */
async function serve(t: Test, talk: (socket: net.Socket) => void): Promise<string> {
  const server = net.createServer(socket => talk(socket.on('error', () => {})))
  return `http://127.0.0.1:${await listen(t, server)}`
}

// Beside the others, since it takes its time: undici's own limit is 4 s, and it looks once a second.
const idle = t.test('an idle connection is used again', { buffered: true }, async t => {
  let opened = 0
  const url = await serve(t, socket => {
    opened += 1
    socket.on('data', () => socket.write('HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}'))
  })
  const api = open(t, url)
  await api.call(create)
  await new Promise(resolve => setTimeout(resolve, 5500))
  await api.call(create)
  t.equal(opened, 1)
})

await t.test('what the SDK makes of host, region or port does not change where the login goes', async t => {
  const server = await startTwilioServer()
  t.teardown(async () => server.close())
  await open(t, server.url).call(async sdk => {
    const { _version: version } = sdk.messages as unknown as { _version: { domain: { baseUrl: string } } }
    version.domain.baseUrl = 'http://collector.example:1'
    await create(sdk)
  })
  t.equal(server.requests.length, 1)
})

await t.test('a call that makes no request is a bug', async t => {
  const api = open(t, 'http://127.0.0.1:1')
  const bug = new Error('a bug')
  await t.rejects(
    api.call(() => Promise.reject(bug)),
    bug,
  )
})

await t.test('the SDK makes of an answer what it makes of it with its own client', async t => {
  const server = await startTwilioServer()
  t.teardown(async () => server.close())
  const stock = twilio(ACCOUNT_SID, AUTH_TOKEN)
  stock.api.baseUrl = server.url
  const api = open(t, server.url)
  const told = async (send: () => Promise<{ sid: string; status: string }>): Promise<unknown> =>
    send().then(
      ({ sid, status }) => ({ sid: /^SM[0-9a-f]{32}$/.test(sid), status }),
      (error: unknown) => {
        const { name, message, status, code, moreInfo } = error as Error & Record<string, unknown>
        return { name, message, status, code, moreInfo }
      },
    )
  for (const fault of [
    undefined,
    twilioError(400, 21211, 'not valid'),
    twilioError(429, 20429),
    twilioError(500, 20500),
    { is: 'answer', status: 502, body: '<html>' },
    { is: 'answer', status: 500, body: '' },
    { is: 'answer', status: 400, body: '{"type":"t","title":"T","status":400,"code":21211}' },
  ] as const) {
    server.fault = fault && (() => fault)
    const usual = await told(async () => stock.messages.create(MESSAGE))
    const ours = async () => {
      const result = await api.call(create)
      if ('value' in result) return result.value
      t.match(result, { written: true, answer: { status: Number } })
      throw result.error
    }
    t.strictSame(await told(ours), usual)
  }
  const [first, second] = server.requests
  t.strictSame(second?.form, first?.form)
  for (const name of ['user-agent', 'accept', 'accept-charset', 'content-type', 'authorization'])
    t.equal(second?.headers[name], first?.headers[name], name)
})

await idle
