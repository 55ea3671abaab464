import { type ClientHttp2Session, constants } from 'node:http2'

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

export interface RunningHeartbeat {
  /** Something came from the other side. */
  heard(): void
  stop(): void
}

/** Sends heartbeats until it is stopped, and tells once when nothing at all was heard for too long. */
export function startHeartbeat(options: HeartbeatOptions): RunningHeartbeat {
  const { session, heartbeat, everyMs, silenceMs, now, onSilence } = options
  let lastHeard = now()
  /** Heartbeats since then. A process that was held up itself has sent few, and must not blame the other side. */
  let unheard = 0
  const enough = Math.max(1, Math.floor(silenceMs / everyMs))
  const heard = () => {
    lastHeard = now()
    unheard = 0
  }
  const answered = (error: Error | null) => {
    if (error === null) heard()
  }

  function beat(): void {
    if (unheard >= enough && now() - lastHeard >= silenceMs) {
      clearInterval(timer)
      onSilence()
      return
    }
    unheard += 1
    if (session.destroyed || session.closed) return
    if (heartbeat === 'ping') session.ping(answered)
    else if (heartbeat === 'settings') session.settings({}, answered)
    else post(session, heartbeat.slice('post:'.length), heard)
  }

  const timer = setInterval(beat, everyMs)
  return { heard, stop: () => clearInterval(timer) }
}

function post(session: ClientHttp2Session, path: string, heard: () => void): void {
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: 'POST',
    [constants.HTTP2_HEADER_PATH]: path,
    [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/json',
  })
  stream.on('response', heard)
  // Its failure is the connection's, which is watched as a whole.
  stream.on('error', () => {})
  stream.resume()
  stream.end('{}')
}
