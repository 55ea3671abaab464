import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Test } from 'tap'

/** Starts a proxy that makes tunnels, or answers `status` instead; `asked` is what it was asked for. */
export async function startHttpProxy(t: Test, status = 200) {
  const asked: { readonly to: string; readonly as: string | undefined }[] = []
  const sockets = new Set<Socket>()
  const proxy = createServer()
  proxy.on('connect', ({ url = '', headers }: IncomingMessage, socket: Socket) => {
    asked.push({ to: url, as: headers['proxy-authorization'] })
    sockets.add(socket)
    if (status !== 200) return void socket.end(`HTTP/1.1 ${status} No\r\n\r\n`)
    const [host = '', port] = url.split(':')
    const upstream = connect({ host, port: Number(port) }, () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n')
      socket.pipe(upstream).pipe(socket)
    })
    sockets.add(upstream)
    for (const each of [socket, upstream]) each.on('error', () => {})
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise(resolve => proxy.close(resolve))
  })
  return { url: `http://courier:p%40ss@127.0.0.1:${(proxy.address() as AddressInfo).port}`, asked }
}
