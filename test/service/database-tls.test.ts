import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import t from 'tap'
import { startService } from '../../src/service/service.ts'
import { command } from '../commands/rig.ts'
import { startSinks } from '../rigs/service.ts'

t.test('a URL over a network that says nothing of TLS is refused before anything connects', async t => {
  const { settings } = await startSinks(t)
  let connections = 0
  const stranger = createServer(socket => {
    connections += 1
    socket.on('error', () => undefined)
    // It asks for the password in clear (AuthenticationCleartextPassword), and hangs up at the answer.
    socket.once('data', () => socket.once('data', () => socket.destroy()).write('R\0\0\0\x08\0\0\0\x03'))
  }).listen(0)
  t.teardown(() => void stranger.close())
  await once(stranger, 'listening')
  const { port } = stranger.address() as AddressInfo
  const refusal = /DATABASE_URL +leads over a network without TLS[^]*add sslmode=verify-full/
  for (const words of ['', '?ssl_min_protocol_version=TLSv1.3', '?sslmode=']) {
    const url = `postgres://courier:the-password@0.0.0.0:${port}/courier${words}`
    const env = { ...settings, ADMIN_PORT: '9', DATABASE_URL: url }
    for (const line of ['check', 'backup copy.db', 'adopt 100fa4'])
      t.match(
        await command(line.split(' '), env),
        { code: 1, [line === 'check' ? 'out' : 'err']: refusal },
        line,
      )
    for (const line of ['find ann@example.com', 'forget ann@example.com'])
      t.match(await command(line.split(' '), env), { code: 1 }, line)
    await t.rejects(startService(env), { message: refusal }, 'serve')
  }
  t.equal(connections, 0)
})
