import type { Socket } from 'node:net'

/** Connections on which nobody has shown the key yet. */
export interface UnauthenticatedConnections {
  /** A connection came in, before TLS. */
  add(socket: Socket): void
  /** A callback with the right key came over this connection (the socket as the request has it, above TLS). */
  markAuthenticated(socket: Socket): void
  /** Whether somebody was let in over it. */
  isAuthenticated(socket: Socket): boolean
  readonly count: () => number
}

/**
 * Bounds what strangers may hold open: with one more than `most`, the one that has had the longest time goes. Who
 * knows the key shows it within a round trip or two, so only connections that dawdle are ever the oldest; with a
 * limit that refuses newcomers instead, strangers could keep the platform out.
 *
 * @param most each takes some 50 KB with TLS.
 */
export function createUnauthenticatedConnections(most: number): UnauthenticatedConnections {
  /** By the far end, which names a connection above and below TLS alike. Insertion order is age. */
  const sockets = new Map<string, Socket>()
  const known = new WeakSet<Socket>()

  return {
    add(socket) {
      const name = nameOf(socket)
      sockets.set(name, socket)
      socket.once('close', () => {
        if (sockets.get(name) === socket) sockets.delete(name)
      })
      if (sockets.size <= most) return
      const [oldest] = sockets
      if (oldest === undefined) return
      sockets.delete(oldest[0])
      oldest[1].destroy()
    },
    markAuthenticated(socket) {
      if (known.has(socket)) return
      known.add(socket)
      sockets.delete(nameOf(socket))
    },
    isAuthenticated: socket => known.has(socket),
    count: () => sockets.size,
  }
}

function nameOf(socket: Socket): string {
  return `${socket.remoteAddress}|${socket.remotePort}`
}
