import t from 'tap'
import { Agent, request } from 'undici'
import { deriveCallbackKey } from '../../src/callback/authenticate.ts'
import { freePort } from '../rigs/free-port.ts'
import { startProcess } from '../rigs/process.ts'
import { CORP_ID, EMAIL_TOKEN, mailBody, startSinks, until } from '../rigs/service.ts'
import { SECRET, startReceiver } from './receiver.ts'

t.test('the event of a message that ended is told after a kill -9, over HTTPS', async t => {
  const sinks = await startSinks(t)
  const port = await freePort()
  const env = {
    ...sinks.settings,
    PATH: process.env['PATH'] ?? '',
    EVENTS_URL: `https://localhost:${port}/hook`,
    EVENTS_SECRET: SECRET,
    TLS_CA_FILE: `${sinks.directory}/cert.pem`,
  }
  const ended = new Set<string>()
  const first = await startProcess(t, env, {
    onEvent: ({ event, id }) => void (event === 'final' && ended.add(String(id))),
  })
  const dispatcher = new Agent({ connect: { ca: sinks.ca } })
  t.teardown(() => dispatcher.destroy())
  const url = `${first.publicUrl}/callback/${CORP_ID}/${deriveCallbackKey('email', CORP_ID, EMAIL_TOKEN)}/email`
  for (let n = 0; n < 5; n += 1) {
    const { statusCode, body } = await request(url, {
      dispatcher,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(mailBody({ to: `p${n}@example.com`, subject: `Subject ${n}` })),
    })
    await body.dump()
    t.equal(statusCode, 200)
  }
  await until(() => ended.size === 5, 'all ended')
  first.child.kill('SIGKILL')
  await first.exited

  const receiver = await startReceiver(t, { port, tlsIn: sinks.directory })
  await startProcess(t, env)
  const told = () => receiver.told().filter(({ type }) => type === 'message.ended')
  await until(() => told().length >= 5, 'all are told')
  t.same(new Set(told().map(({ data }) => data['id'])), ended)
  t.equal(receiver.forged(), 0)
})
