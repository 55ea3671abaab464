import type { Logger } from 'pino'
import type { Channel } from '../messages/message.ts'
import type { Observer } from './event-log.ts'

/** What somebody did in the console. */
export interface OperatorAct {
  readonly did: 'retry' | 'cancel' | 'test-send'
  readonly channel: Channel
  readonly kind: string
  /** The messages it was done to, or that it made. */
  readonly ids: readonly string[]
}

/** Logs what is done in the console. What is cancelled has come to its end, which is told as every end is. */
export function createAuditLog(log: Logger, observer: Pick<Observer, 'final'>): (act: OperatorAct) => void {
  return ({ did, channel, kind, ids }) => {
    log.info({ event: 'operator', did, channel, kind, ids }, `${did} in the console`)
    if (did !== 'cancel') return
    for (const id of ids) observer.final({ id, channel, kind, state: 'superseded', answer: null })
  }
}
