import type { AddressInfo, Server, Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'

/** Lets a server listen on a free port of loopback until the test ends, which ends its connections, too. @returns the port. */
export async function listen(t: Test, server: Server): Promise<number> {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of open) socket.destroy()
    return new Promise(resolve => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

/** The same for an app. */
export async function listenAs(
  t: Test,
  app: Pick<FastifyInstance, 'listen' | 'close' | 'server'>,
): Promise<number> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => app.close())
  return (app.server.address() as AddressInfo).port
}
