import type { Socket } from 'node:net'

/** The descriptors that callers leave free for refusals, probes, the store and providers; where there are few, a quarter of them. */
const SPARE = 64
/** The last of these are for the store and for probes: a caller that gets one is hung up on. */
const LAST = 4
/** For so long it is said that descriptors are short, ms, after a caller got a spare one. */
const SAID_MS = 2000

/**
 * Watches over the file descriptors of the process: when none is left, all connections that the kernel holds are reset, and neither
 * the store nor a provider can open anything. A new connection tells by its own number how many are in use, since the kernel gives
 * the lowest that is free.
 */
export interface Descriptors {
  /** So many callers that have not shown the key leave room for those that have. */
  readonly forStrangers: number
  /** Looks at a new connection. */
  note(socket: Socket): void
  /** Says whether a caller's connection has one of the spare descriptors: callbacks over it are refused, and it is closed. */
  isSpare(socket: Socket): boolean
  /** Says whether descriptors were short just now. */
  areShort(): boolean
}

/**
 * @param most that the process may have open.
 * @param monotonic ms, never set.
 */
export function createDescriptors(most: number, monotonic: () => number): Descriptors {
  const room = most - Math.min(SPARE, Math.floor(most / 4))
  let usedAt = Number.NEGATIVE_INFINITY

  return {
    forStrangers: Math.floor(room / 2),
    note(socket) {
      const descriptor = descriptorOf(socket)
      if (descriptor >= room) usedAt = monotonic()
      if (descriptor >= most - LAST) socket.destroy()
    },
    isSpare: socket => descriptorOf(socket) >= room,
    areShort: () => monotonic() - usedAt < SAID_MS,
  }
}

/** The number of a connection's descriptor, below TLS as above; -1: it is closed. */
function descriptorOf(socket: Socket): number {
  const { _handle: handle } = socket as { readonly _handle?: { readonly fd?: number } | null }
  return handle?.fd ?? -1
}
