import type { Server } from 'node:https'
import type { Socket } from 'node:net'

/**
 * Begins TLS at a connection's first bytes only: its objects take 50 KB and most of the time that a connection costs,
 * and strangers who connect by ten thousands a second and say nothing would have them made.
 *
 * @param limitMs how long the first bytes may take; the handshake has its own limit from then on.
 */
export function delayHandshake(server: Server, limitMs: number): void {
  const [beginTls] = server.listeners('connection')
  if (beginTls === undefined) throw new Error('the TLS server does not listen to its connections')
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    const giveUp = () => void socket.destroy()
    socket.on('error', giveUp)
    socket.setTimeout(limitMs, giveUp)
    // Node hands over what was read by then. Nothing was when the caller has ended.
    socket.once('readable', () => {
      if (socket.readableLength === 0) return giveUp()
      socket.setTimeout(0, giveUp)
      socket.off('error', giveUp)
      beginTls.call(server, socket)
    })
  })
}
