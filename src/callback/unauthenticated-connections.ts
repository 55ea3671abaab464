import type { Socket } from 'node:net'
import { monotonic } from '../runtime/clock.ts'

/** The size of the networks that count as one source: one machine, or one customer, may have that many addresses. */
const SOURCE: NetworkSize = { octets: 3, groups: 3 }

/**
 * Connections are behind when one came in every turn of the event loop for so long, ms; when they were just so lately, for less. A burst of
 * hundreds, after which nobody comes, is accepted to its end.
 */
const BEHIND_AFTER_MS = 1000
const BEHIND_AGAIN_AFTER_MS = 200
const LATELY_MS = 2000
/** What a turn counts at most, ms: a process that stood still was not working, and all who came meanwhile may still be served. */
const LONGEST_TURN_MS = 100

interface Connection {
  readonly name: string
  readonly socket: Socket
  source: string
}

/** The connections on which no request had the right key yet. */
export interface UnauthenticatedConnections {
  /** A connection came in, before TLS. */
  add(socket: Socket): void
  /** A request over this connection comes from elsewhere, as a trusted proxy says: it counts there from now on. @param callerOf is asked only while it counts */
  attribute(socket: Socket, callerOf: () => string): void
  /** A callback with the right key came over this connection (the socket as the request has it, above TLS). */
  markAuthenticated(socket: Socket): void
  /** Says whether a callback with the right key came over this connection. */
  isAuthenticated(socket: Socket): boolean
  count(): number
  /** Says whether a connection came in this turn of the event loop or the last one, so that the next may wait behind it. */
  isAccepting(): boolean
  /** Says whether the platform's connections come faster than they are accepted, and have done so for a while. */
  isBehind(): boolean
}

/**
 * Bounds the unauthenticated connections: with one more than `most`, the source that holds most loses its oldest, so
 * that everybody has a share as large as anybody's. The platform shows its key within some round trips, and keeps its
 * place for them however fast others connect; a limit that refuses newcomers, or closes the oldest of all, would let one
 * stranger keep it out.
 *
 * @param most each connection takes some 50 KB with TLS.
 */
export function createUnauthenticatedConnections(most: number, now = monotonic): UnauthenticatedConnections {
  /** Connections by remote address and port, which name one above and below TLS alike. */
  const connections = new Map<string, Connection>()
  const shares = createShares()
  const authenticated = new WeakSet<Socket>()
  const arrivals = createArrivals(now)

  function remove(connection: Connection | undefined): void {
    // The name of a connection that is gone may belong to another one already.
    if (connection === undefined || connections.get(connection.name) !== connection) return
    connections.delete(connection.name)
    shares.remove(connection)
  }

  return {
    add(socket) {
      arrivals.note()
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
    attribute(socket, callerOf) {
      const connection = connections.get(nameOf(socket))
      if (connection === undefined) return
      const source = networkOf(callerOf(), SOURCE)
      if (connection.source === source) return
      shares.remove(connection)
      connection.source = source
      shares.add(connection)
    },
    markAuthenticated(socket) {
      if (authenticated.has(socket)) return
      authenticated.add(socket)
      arrivals.noteKey()
      remove(connections.get(nameOf(socket)))
    },
    isAuthenticated: socket => authenticated.has(socket),
    count: () => connections.size,
    isAccepting: arrivals.isAccepting,
    isBehind: arrivals.isBehind,
  }
}

/**
 * Notes the turns of the event loop in which a connection came. A turn accepts one connection, however many wait in the kernel;
 * so while they come, turns have to be short, or callers wait unseen and leave before anybody refuses them.
 */
function createArrivals(monotonic: () => number) {
  /** Turns for which it is remembered: this one, and the next, whose connection may come after other events of it. */
  let turns = 0
  /** For how long one came in every turn, ms, since when this turn lasts, how many came, and on how many the key was shown meanwhile. */
  let lasted = 0
  let turnSince = 0
  let came = 0
  let known = 0
  let behindAt = Number.NEGATIVE_INFINITY
  const turnMs = (now: number) => Math.min(now - turnSince, LONGEST_TURN_MS)
  const endTurn = () => {
    const now = monotonic()
    lasted += turnMs(now)
    turnSince = now
    turns -= 1
    if (turns > 0) setImmediate(endTurn)
  }
  return {
    note(): void {
      if (turns === 0) {
        setImmediate(endTurn)
        turnSince = monotonic()
        lasted = 0
        came = 0
        known = 0
      }
      turns = 2
      came += 1
    },
    noteKey(): void {
      known += 1
    },
    isAccepting: (): boolean => turns > 0,
    isBehind(): boolean {
      // Strangers who come by thousands must not have the platform refused.
      if (turns === 0 || known * 2 < came) return false
      const now = monotonic()
      const mostMs = now - behindAt < LATELY_MS ? BEHIND_AGAIN_AFTER_MS : BEHIND_AFTER_MS
      if (lasted + turnMs(now) < mostMs) return false
      behindAt = now
      return true
    },
  }
}

/** Keeps the connections of each source. */
function createShares() {
  /** Insertion order is age. */
  const bySource = new Map<string, Set<Connection>>()

  return {
    add(connection: Connection): void {
      const { source } = connection
      const held = bySource.get(source) ?? new Set()
      bySource.set(source, held.add(connection))
    },
    remove(connection: Connection): void {
      const held = bySource.get(connection.source)
      held?.delete(connection)
      if (held?.size === 0) bySource.delete(connection.source)
    },
    /** Looks at all sources, of which there are no more than connections: that takes a tenth of what a connection costs. */
    oldestOfLargest(): Connection {
      let largest: ReadonlySet<Connection> = new Set()
      for (const held of bySource.values()) if (held.size > largest.size) largest = held
      const [oldest] = largest
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
  if (!plain.includes(':')) return plain.split('.').slice(0, octets).join('.')
  // `::` stands for groups of 0, and may stand within the network.
  const [head] = plain.toLowerCase().split('::')
  return [...(head || '0').split(':'), '0', '0', '0'].slice(0, groups).join(':')
}
