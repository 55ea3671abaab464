import type { SmtpConnection } from './connection.ts'

/** Lends connections, one message at a time each. */
export interface ConnectionPool {
  /** Waits until one is free. @returns undefined when `signal` aborts or the pool is closed first. */
  take(signal: AbortSignal): Promise<SmtpConnection | undefined>
  giveBack(connection: SmtpConnection): void
  /** Whoever waits is sent away; what is being sent is stopped. */
  close(): Promise<void>
}

export function createConnectionPool(connections: readonly SmtpConnection[]): ConnectionPool {
  // The last one back is the first one out, so that at a low rate a few connections stay warm and the rest close.
  const free = [...connections]
  const waiting: ((connection: SmtpConnection | undefined) => void)[] = []
  let closed = false

  return {
    async take(signal) {
      if (closed || signal.aborted) return undefined
      const next = free.pop()
      if (next) return next
      return new Promise(resolve => {
        const leave = (): void => {
          waiting.splice(waiting.indexOf(lend), 1)
          resolve(undefined)
        }
        const lend = (connection: SmtpConnection | undefined): void => {
          signal.removeEventListener('abort', leave)
          resolve(connection)
        }
        waiting.push(lend)
        signal.addEventListener('abort', leave, { once: true })
      })
    },
    giveBack(connection) {
      const next = waiting.shift()
      if (next) next(connection)
      else free.push(connection)
    },
    async close() {
      closed = true
      for (const lend of waiting.splice(0)) lend(undefined)
      await Promise.all(connections.map(each => each.close()))
    },
  }
}
