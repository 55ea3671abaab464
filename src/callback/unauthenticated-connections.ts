import type { Socket } from 'node:net'

/** The connections on which no request had the right key yet. */
export interface UnauthenticatedConnections {
  /** A connection came in, before TLS. */
  add(socket: Socket): void
  /** A callback with the right key came over this connection (the socket as the request has it, above TLS). */
  markAuthenticated(socket: Socket): void
  /** Whether a callback with the right key came over this connection. */
  isAuthenticated(socket: Socket): boolean
  readonly count: () => number
}

/**
 * Bounds the unauthenticated connections: with one more than `most`, the oldest is closed. The platform shows its key
 * within a round trip or two, so only connections that dawdle are ever the oldest; a limit that refuses newcomers
 * instead would let strangers keep the platform out.
 *
 * @param most each connection takes some 50 KB with TLS.
 */
export function createUnauthenticatedConnections(most: number): UnauthenticatedConnections {
  /** By remote address and port, which name a connection above and below TLS alike. Insertion order is age. */
  const sockets = new Map<string, Socket>()
  const authenticated = new WeakSet<Socket>()

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
      if (authenticated.has(socket)) return
      authenticated.add(socket)
      sockets.delete(nameOf(socket))
    },
    isAuthenticated: socket => authenticated.has(socket),
    count: () => sockets.size,
  }
}

function nameOf(socket: Socket): string {
  return `${socket.remoteAddress}|${socket.remotePort}`
}
