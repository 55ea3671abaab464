import { type ConnectionEnd, type ConnectionOptions, openConnection } from './connection.ts'

/** The client's state, for logs, metrics and pages. */
export interface DdqStatus {
  readonly state: 'off' | 'connecting' | 'subscribed' | 'waiting'
  /** Since when, ms by the client's clock. */
  readonly since: number
  readonly received: number
  readonly malformed: number
  readonly connections: number
  /** Why the last connection ended; null: none has. */
  readonly lastEnd: ConnectionEnd | null
}

export interface DdqClientOptions
  extends Omit<ConnectionOptions, 'onSubscribed' | 'onMalformed' | 'onRefused'>,
    Partial<Pick<ConnectionOptions, 'onSubscribed' | 'onMalformed' | 'onRefused'>> {
  /** From 0 to 1. */
  readonly random: () => number
  /** A connection ended, and the next is tried after `waitMs`. */
  readonly onEnd?: (end: ConnectionEnd, waitMs: number) => void
}

/** Jitter: as if a fifth of the time between two tries were drawn anew each time, to either side. */
const JITTER = 0.2

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * Holds a subscription for as long as it is started: connects, and whenever the connection ends, connects again, every
 * `reconnectMs` with jitter until it succeeds. A refused credential is replaced at once, but only once in a row, so
 * that an application that is locked out does not hammer the platform.
 */
export function createDdqClient(options: DdqClientOptions) {
  const status: Mutable<DdqStatus> = {
    state: 'off',
    since: options.now(),
    received: 0,
    malformed: 0,
    connections: 0,
    lastEnd: null,
  }
  let stop: (() => void) | undefined
  return {
    start(): void {
      stop ??= keepConnected(options, status)
    },
    /** Ends the connection and does not come back; `start` begins anew. */
    stop(): void {
      stop?.()
      stop = undefined
    },
    status: (): DdqStatus => ({ ...status }),
  }
}

/** @param status is kept up to date. @returns a function that ends it */
function keepConnected(options: DdqClientOptions, status: Mutable<DdqStatus>): () => void {
  const { timings, random, now } = options
  let stopped = false
  let connection: { stop(): void } | undefined
  let timer: NodeJS.Timeout | undefined
  let justLoggedIn = false

  function enter(state: DdqStatus['state']): void {
    status.state = state
    status.since = now()
  }

  async function connect(): Promise<void> {
    status.connections += 1
    enter('connecting')
    const opened = openConnection({
      ...options,
      onMessage(message) {
        status.received += 1
        return options.onMessage(message)
      },
      onMalformed(malformed) {
        status.malformed += 1
        options.onMalformed?.(malformed)
      },
      onRefused: (topic, why) => options.onRefused?.(topic, why),
      onSubscribed(topics) {
        if (stopped) return
        justLoggedIn = false
        enter('subscribed')
        options.onSubscribed?.(topics)
      },
    })
    connection = opened
    const end = await opened.ended
    if (stopped) return
    status.lastEnd = end
    const atOnce = end.logInAgain && !justLoggedIn
    justLoggedIn = atOnce
    const waitMs = atOnce ? 0 : Math.round(timings.reconnectMs * (1 - JITTER + random() * 2 * JITTER))
    enter('waiting')
    options.onEnd?.(end, waitMs)
    if (stopped) return
    timer = setTimeout(() => void connect(), waitMs)
  }

  void connect()
  return () => {
    stopped = true
    clearTimeout(timer)
    connection?.stop()
    enter('off')
  }
}
