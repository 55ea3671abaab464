import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

/** RFC 9113, 4.1: length in three octets, type, flags, stream in four. */
const HEADER_OCTETS = 9
const DATA = 0
/** RFC 9113, 4.2: what a frame may hold at most, as we announce no other size. */
const MOST_IN_A_FRAME = 16_384
/**
 * What DATA has to carry to pay for its frame, octets. A message is a few hundred; who sends it in pieces may do so for
 * a while, as far as the allowance goes.
 */
const WORTH_OF_A_FRAME = 100
const MOST_POOR_FRAMES = 10_000
/**
 * Frames of other types that are allowed at once, and refilled a second. Each 256 octets in it count as a further frame: a
 * field section or a list of origins is kept. A server needs a few for each stream, and a PING now and then.
 */
const OTHER_FRAMES = 1000
const OTHER_FRAMES_A_SECOND = 50
const OCTETS_OF_A_FRAME = 256

const NAMES = [
  'DATA',
  'HEADERS',
  'PRIORITY',
  'RST_STREAM',
  'SETTINGS',
  'PUSH_PROMISE',
  'PING',
  'GOAWAY',
  'WINDOW_UPDATE',
  'CONTINUATION',
  'ALTSVC',
  '',
  'ORIGIN',
]

type FrameGuard = ReturnType<typeof createFrameGuard>

/**
 * Watches the frames of an HTTP/2 server before anything is made of them: every frame costs nghttp2 and Node some
 * hundred octets and some microseconds, however little is in it, and flow control (RFC 9113, 5.2) counts the octets of
 * DATA alone. So a server, or whoever is on the way to one without TLS, can wear us out by many frames that say little:
 * PING, SETTINGS, RST_STREAM ("rapid reset"), PRIORITY, WINDOW_UPDATE, CONTINUATION, HEADERS, empty or tiny DATA, ALTSVC,
 * ORIGIN and types that nobody knows. All of them are one thing here: more frames than there is something to say.
 * @param now ms since any origin, never going back.
 */
export function createFrameGuard(now: () => number) {
  const header = new Uint8Array(HEADER_OCTETS)
  let read = 0
  /** Octets of the payload that are still to come. */
  let left = 0
  let poorFrames = 0
  let others = OTHER_FRAMES
  let refilledAt = now()

  function charge(length: number, type: number): string | null {
    if (length > MOST_IN_A_FRAME) return 'a frame that is too long'
    if (type === DATA) {
      poorFrames = Math.max(0, poorFrames + 1 - length / WORTH_OF_A_FRAME)
      return poorFrames > MOST_POOR_FRAMES ? 'a flood of DATA frames with next to nothing in them' : null
    }
    others -= 1 + length / OCTETS_OF_A_FRAME
    return others < 0 ? `a flood of frames, at last ${NAMES[type] || 'of an unknown type'}` : null
  }

  return {
    /** Looks at the next octets, cut anywhere. @returns what is wrong with them; null: nothing */
    check(chunk: Uint8Array): string | null {
      const cameAt = now()
      others = Math.min(OTHER_FRAMES, others + ((cameAt - refilledAt) / 1000) * OTHER_FRAMES_A_SECOND)
      refilledAt = cameAt
      let at = 0
      while (at < chunk.length) {
        if (left > 0) {
          const skipped = Math.min(left, chunk.length - at)
          left -= skipped
          at += skipped
          continue
        }
        header[read] = chunk[at] as number
        read += 1
        at += 1
        if (read < HEADER_OCTETS) continue
        read = 0
        const [high = 0, middle = 0, low = 0, type = 0] = header
        left = (high << 16) | (middle << 8) | low
        const fault = charge(left, type)
        if (fault !== null) return fault
      }
      return null
    },
  }
}

/**
 * The connected socket behind a guard. What it refuses goes no further, and ends the connection.
 * @param onFault called once, before the connection ends.
 */
export function guardSocket(socket: Socket, guard: FrameGuard, onFault: (fault: string) => void): Duplex {
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
    const fault = guard.check(chunk)
    if (fault !== null) {
      onFault(fault)
      guarded.destroy()
    } else if (!guarded.push(chunk)) socket.pause()
  })
  socket.once('end', () => guarded.push(null))
  socket.on('error', error => guarded.destroy(error))
  socket.once('close', () => guarded.destroy())
  return guarded
}
