import type { Logger } from 'pino'
import { withTimeout } from '../../runtime/clock.ts'
import { createLogThrottle } from '../../runtime/log-throttle.ts'
import { type CollectorOptions, createCollectorClient } from './collector-client.ts'
import type { Span } from './span.ts'

export interface ExporterOptions extends CollectorOptions {
  readonly log: Logger
  /** How long a span waits for others, ms. */
  readonly everyMs?: number
}

/** The specification's values for its batch processor: https://opentelemetry.io/docs/specs/otel/trace/sdk/ */
const MOST_QUEUED = 2048
const MOST_IN_BATCH = 512
const EVERY_MS = 5_000
const LONGEST_PAUSE_MS = 60_000
const LAST_TRY_MS = 1_000

/** Sends spans to a collector, in batches. It never makes anybody wait, and never throws. */
export function createSpanExporter(options: ExporterOptions) {
  const { clock, log, everyMs = EVERY_MS } = options
  const collector = createCollectorClient(options)
  const complaint = createComplaint(log, clock.now)
  let queue: Span[] = []
  /** In a row. */
  let failures = 0
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> | undefined

  async function sendAll(): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.slice(0, MOST_IN_BATCH)
      const failure = await collector.post(batch)
      if (failure === null || !failure.again) queue = queue.slice(batch.length)
      if (failure === null) {
        failures = 0
        continue
      }
      failures += 1
      return complaint.make(failure.why, failure.again ? 0 : batch.length)
    }
    complaint.end()
  }

  function send(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    sending ??= sendAll().finally(() => {
      sending = undefined
      schedule()
    })
    return sending
  }

  function schedule(): void {
    if (queue.length === 0) return
    timer ??= setTimeout(() => void send(), Math.min(everyMs * 2 ** failures, LONGEST_PAUSE_MS)).unref()
  }

  return {
    record(span: Span): void {
      if (queue.length >= MOST_QUEUED) return complaint.make('too slow', 1)
      queue.push(span)
      if (queue.length >= MOST_IN_BATCH && failures === 0 && sending === undefined) void send()
      else if (sending === undefined) schedule()
    },
    /** Tries once more to send what is there, for a second at most. */
    async close(): Promise<void> {
      await withTimeout(LAST_TRY_MS, send())
      clearTimeout(timer)
      await collector.close()
    },
  }
}

/** Logs that a collector does not take all, once and rarely, and when that is over, how many spans were lost. */
function createComplaint(log: Logger, now: () => number) {
  const rarely = createLogThrottle(now)
  let isMade = false
  let lost = 0
  return {
    make(reason: string, more: number): void {
      lost += more
      if (isMade) return
      rarely('traces', () => {
        isMade = true
        log.warn(
          { event: 'traces', reason },
          'the collector takes no traces, or not all: what is too much is dropped',
        )
      })
    },
    end(): void {
      if (isMade) log.info({ event: 'traces', lost }, 'the collector takes traces again')
      isMade = false
      lost = 0
    },
  }
}
