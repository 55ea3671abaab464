import { type DestinationStream, type Logger, pino } from 'pino'

/** Log lines are written together, since each write wakes a thread: so many characters, or after so long, ms. */
const CHUNK = 8192
const WITHIN_MS = 200

/**
 * Makes the service's log: JSON lines with `time`, `level` and `message`.
 * @param destination stdout unless given.
 */
export function createLog(level: string, destination: DestinationStream = openStdout()): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: createTimestamps(),
      messageKey: 'message',
      // Faults come presentable already; pino's own serializer would call each of them an Object.
      serializers: { err: (fault: unknown) => fault },
    },
    destination,
  )
}

function openStdout(): DestinationStream {
  return pino.destination({ dest: 1, sync: false, minLength: CHUNK, periodicFlush: WITHIN_MS })
}

/** The time of a log line, ISO 8601: lines of the same millisecond, which are many under load, share its text. */
function createTimestamps(): () => string {
  let at = -1
  let text = ''
  return () => {
    const now = Date.now()
    if (now !== at) {
      at = now
      text = `,"time":"${new Date(now).toISOString()}"`
    }
    return text
  }
}
