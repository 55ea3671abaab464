import { isIPv6, type Socket } from 'node:net'

/** The size of the networks that count as one source: one machine, or one customer, may have that many addresses. */
const SOURCE: NetworkSize = { octets: 3, groups: 3 }

interface Connection {
  readonly name: string
  readonly socket: Socket
  source: string
}

export type UnauthenticatedConnections = ReturnType<typeof createUnauthenticatedConnections>

/**
 * The connections on which no request had the right key yet.
 * Bounds the unauthenticated connections: with one more than `most`, the source that holds most loses its oldest, so
 * that everybody has a share as large as anybody's. The platform shows its key within some round trips, and keeps its
 * place for them however fast others connect; a limit that refuses newcomers, or closes the oldest of all, would let one
 * stranger keep it out.
 *
 * @param most each connection takes some 50 KB with TLS.
 */
export function createUnauthenticatedConnections(most: number) {
  /** Connections by remote address and port, which name one above and below TLS alike. */
  const connections = new Map<string, Connection>()
  const shares = createShares()
  const authenticated = new WeakSet<Socket>()

  function remove(connection: Connection | undefined): void {
    // The name of a connection that is gone may belong to another one already.
    if (connection === undefined || connections.get(connection.name) !== connection) return
    connections.delete(connection.name)
    shares.remove(connection)
  }

  return {
    /** A connection came in, before TLS. */
    add(socket: Socket): void {
      const name = nameOf(socket)
      const connection = { name, socket, source: networkOf(socket.remoteAddress ?? '', SOURCE) }
      remove(connections.get(name))
      connections.set(name, connection)
      shares.add(connection)
      socket.once('close', () => remove(connection))
      if (connections.size <= most) return
      const evicted = shares.oldestOfLargest()
      remove(evicted)
      evicted.socket.destroy()
    },
    /** A request over this connection comes from elsewhere, as a trusted proxy says: it counts there from now on. */
    attribute(socket: Socket, caller: string): void {
      const connection = connections.get(nameOf(socket))
      const source = networkOf(caller, SOURCE)
      if (connection === undefined || connection.source === source) return
      shares.remove(connection)
      connection.source = source
      shares.add(connection)
    },
    /** A callback with the right key came over this connection (the socket as the request has it, above TLS). */
    markAuthenticated(socket: Socket): void {
      if (authenticated.has(socket)) return
      authenticated.add(socket)
      remove(connections.get(nameOf(socket)))
    },
    /** Says whether a callback with the right key came over this connection. */
    isAuthenticated: (socket: Socket): boolean => authenticated.has(socket),
    count: (): number => connections.size,
  }
}

/** Keeps the connections of each source, and which source has most: all in constant time, since strangers come by thousands. */
function createShares() {
  /** Insertion order is age. */
  const bySource = new Map<string, Set<Connection>>()
  /** The sources that have so many connections; those that have it longest first. */
  const bySize: Set<string>[] = []
  let largest = 0

  function resize(source: string, from: number, to: number): void {
    bySize[from]?.delete(source)
    if (to > 0) (bySize[to] ??= new Set()).add(source)
    if (to > largest) largest = to
    // It alone had the most connections; now it has one fewer, and no source has more.
    else if (from === largest && bySize[from]?.size === 0) largest = to
  }

  return {
    add(connection: Connection): void {
      const { source } = connection
      let held = bySource.get(source)
      if (held === undefined) {
        held = new Set()
        bySource.set(source, held)
      }
      held.add(connection)
      resize(source, held.size - 1, held.size)
    },
    remove(connection: Connection): void {
      const { source } = connection
      const held = bySource.get(source)
      if (held === undefined || !held.delete(connection)) return
      if (held.size === 0) bySource.delete(source)
      resize(source, held.size + 1, held.size)
    },
    oldestOfLargest(): Connection {
      const [source = ''] = bySize[largest] ?? []
      const [oldest] = bySource.get(source) ?? []
      if (oldest === undefined) throw new Error('the connections of the sources were miscounted')
      return oldest
    },
  }
}

function nameOf(socket: Socket): string {
  return `${socket.remoteAddress}|${socket.remotePort}`
}

/** The part of an address that names the network of one party: so many octets of IPv4, or groups of 16 bits of IPv6. */
export interface NetworkSize {
  readonly octets: 3 | 4
  readonly groups: 3 | 4
}

/**
 * Names the network of an address. An IPv4 address in IPv6 form (`::ffff:192.0.2.1`) counts as IPv4. A text that is no address is
 * a network of its own.
 */
export function networkOf(address: string, { octets, groups }: NetworkSize): string {
  const plain = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
  if (!isIPv6(plain)) return plain.split('.').slice(0, octets).join('.')
  const [head = '', tail] = (plain.split('%', 1)[0] ?? '').toLowerCase().split('::')
  const all = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const rest = tail === '' ? [] : tail.split(':')
    while (all.length + rest.length < 8) all.push('0')
    all.push(...rest)
  }
  return all
    .slice(0, groups)
    .map(group => group.replace(/^0+(?=.)/, ''))
    .join(':')
}
