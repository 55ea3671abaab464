import { type DestinationStream, type Logger, pino } from 'pino'
import { withTimeout } from '../runtime/clock.ts'

/** Log lines are written together, since each write wakes a thread: once there are so many characters, or after so long, ms. */
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

export interface LogDestination extends DestinationStream {
  /** Writes what it holds. */
  flush(done?: () => void): void
}

/**
 * Opens stdout, or a file, for the log's lines. Nothing is written at the exit of the process: pino would do that synchronously, and would
 * try for ever if nobody reads any more. So flushLog is called before the process ends.
 */
export function openStdout(dest: number | string = 1): LogDestination {
  const stdout = pino.destination({ dest, sync: false, minLength: CHUNK, periodicFlush: WITHIN_MS })
  stdout.flushSync = () => {}
  return stdout
}

/**
 * Writes the lines that are left.
 * @param withinMs how long that may take.
 * @returns false when it took longer: the reader of the log is gone, or does not read.
 */
export async function flushLog(
  destination: Pick<LogDestination, 'flush'>,
  withinMs: number,
): Promise<boolean> {
  // A write that is under way has only the lines before it, and its end calls back: those that came since need another one.
  const written = new Promise<true>(resolve =>
    destination.flush(() => destination.flush(() => resolve(true))),
  )
  return (await withTimeout(withinMs, written)) ?? false
}

/** Makes the time of log lines, ISO 8601: those of the same millisecond, which are many under load, share its text. */
function createTimestamps(): () => string {
  let at = 0
  let text = ''
  return () => {
    const now = Date.now()
    if (now !== at) text = `,"time":"${new Date(now).toISOString()}"`
    at = now
    return text
  }
}
