import { createServer, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import { listen } from './listen.ts'

/** Starts a proxy that makes tunnels, or answers `status` instead; `asked` is what it was asked for. */
export async function startHttpProxy(t: Test, status = 200) {
  const asked: { readonly to: string; readonly as: string | undefined }[] = []
  const proxy = createServer()
  proxy.on('connect', ({ url = '', headers }: IncomingMessage, socket: Socket) => {
    asked.push({ to: url, as: headers['proxy-authorization'] })
    if (status !== 200) return void socket.end(`HTTP/1.1 ${status} No\r\n\r\n`)
    const [host = '', port] = url.split(':')
    const upstream = connect({ host, port: Number(port) }, () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n')
      socket.pipe(upstream).pipe(socket)
    })
    socket.once('close', () => upstream.destroy())
    for (const each of [socket, upstream]) each.on('error', () => {})
  })
  return { url: `http://courier:p%40ss@127.0.0.1:${await listen(t, proxy)}`, asked }
}
