import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

/** RFC 9113, 4.1: length in three octets, type, flags, stream in four. */
const HEADER_OCTETS = 9
const DATA = 0
/** What DATA has to carry to pay for its frame, octets. A message is a few hundred. */
const WORTH_OF_A_FRAME = 100
/** Frames that say little, as many as are allowed at once, and a second: an object may come byte by byte for a while. */
const MOST_FRAMES = 10_000
const FRAMES_A_SECOND = 50
/** Each so many octets of a frame that is not DATA count as a further frame: a field section or a list of origins is kept. */
const OCTETS_OF_A_FRAME = 32

/**
 * Counts the frames of an HTTP/2 server before anything is made of them. Node bounds what single frames may do, but not PING,
 * SETTINGS, PRIORITY, WINDOW_UPDATE, empty DATA and types that nobody knows: each costs some hundred octets and some
 * microseconds, and flow control (RFC 9113, 5.2) counts the octets of DATA alone. So a server, or whoever is on the way to one
 * without TLS, could wear us out by frames that say little.
 *
 * @param now ms since any origin, never going back.
 * @returns looks at the next octets, cut anywhere; false: too many frames came.
 */
export function createFrameGuard(now: () => number): (chunk: Uint8Array) => boolean {
  const header = new Uint8Array(HEADER_OCTETS)
  let read = 0
  /** Octets of the payload that are still to come. */
  let unread = 0
  let allowed = MOST_FRAMES
  let refilledAt = now()

  return chunk => {
    const cameAt = now()
    allowed = Math.min(MOST_FRAMES, allowed + ((cameAt - refilledAt) / 1000) * FRAMES_A_SECOND)
    refilledAt = cameAt
    for (let at = 0; at < chunk.length; ) {
      const skipped = Math.min(unread, chunk.length - at)
      unread -= skipped
      at += skipped
      if (at === chunk.length) break
      header[read] = chunk[at] as number
      read = (read + 1) % HEADER_OCTETS
      at += 1
      if (read > 0) continue
      const [high = 0, middle = 0, low = 0, type = 0] = header
      unread = (high << 16) | (middle << 8) | low
      allowed -= type === DATA ? 1 - unread / WORTH_OF_A_FRAME : 1 + unread / OCTETS_OF_A_FRAME
      if (allowed < 0) return false
    }
    return true
  }
}

/**
 * The connected socket behind a guard. What it refuses goes no further, and ends the connection.
 * @param onFlood called once, before the connection ends.
 */
export function guardSocket(socket: Socket, now: () => number, onFlood: () => void): Duplex {
  const passes = createFrameGuard(now)
  const guarded = new Duplex({
    read: () => void socket.resume(),
    write: (chunk: Uint8Array, _encoding, done) => void socket.write(chunk, done),
    final: done => void socket.end(done),
    destroy(error, done) {
      socket.destroy()
      done(error)
    },
  })
  socket.on('data', chunk => {
    if (!passes(chunk)) {
      onFlood()
      guarded.destroy()
    } else if (!guarded.push(chunk)) socket.pause()
  })
  socket.once('end', () => guarded.push(null))
  socket.on('error', error => guarded.destroy(error))
  socket.once('close', () => guarded.destroy())
  return guarded
}
