import type { ClientHttp2Session } from 'node:http2'
import { postRequest } from './exchange.ts'

/**
 * How the connection is kept alive and watched. The contract gives an interval and a limit, but not the frame.
 *
 * - `ping`      an HTTP/2 PING (RFC 9113, 6.7): what the protocol has for it, answered by any server
 * - `settings`  an empty SETTINGS frame (6.5), which has to be acknowledged too
 * - `post:/…`   a POST of `{}` to that path, for a server that counts requests only
 */
export type Heartbeat = 'ping' | 'settings' | `post:/${string}`

export interface HeartbeatOptions {
  readonly session: ClientHttp2Session
  readonly heartbeat: Heartbeat
  /** ms between two of them. */
  readonly everyMs: number
  /** Silence after which the connection counts as dead, ms. */
  readonly silenceMs: number
  /** ms since any origin, never going back. */
  readonly now: () => number
  readonly onSilence: () => void
}

/**
 * Sends heartbeats until it is stopped, and calls `onSilence` once when nothing at all came for too long.
 * `recordActivity`: bytes came from the other side.
 */
export function startHeartbeat(options: HeartbeatOptions) {
  const { session, heartbeat, everyMs, silenceMs, now, onSilence } = options
  let lastActivity = now()
  /** Heartbeats since then. A process that was held up itself has sent few: the silence is not the other side's. */
  let unanswered = 0
  const expected = Math.max(1, Math.floor(silenceMs / everyMs))
  const recordActivity = () => {
    lastActivity = now()
    unanswered = 0
  }
  const onAck = (error: Error | null) => {
    if (error === null) recordActivity()
  }

  function sendHeartbeat(): void {
    if (unanswered >= expected && now() - lastActivity >= silenceMs) {
      clearInterval(timer)
      onSilence()
      return
    }
    unanswered += 1
    if (session.destroyed || session.closed) return
    if (heartbeat === 'ping') session.ping(onAck)
    else if (heartbeat === 'settings') session.settings({}, onAck)
    else {
      const stream = postRequest(session, heartbeat.slice('post:'.length), {})
      stream.on('response', recordActivity)
      // Its failure is the connection's, which is watched as a whole.
      stream.on('error', () => {})
      stream.resume()
      // A server that never ends its answers must not gather streams.
      stream.setTimeout(silenceMs, () => stream.close())
    }
  }

  const timer = setInterval(sendHeartbeat, everyMs)
  return { recordActivity, stop: () => clearInterval(timer) }
}
