import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { openWaitingAdmin } from '../admin/admin.ts'
import type { Config } from '../config/config.ts'
import type { Emit } from '../events/events.ts'
import { type Outbox, StoreUnusable } from '../outbox/outbox.ts'
import type { Clock } from '../runtime/clock.ts'

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 4000

/**
 * Opens the store, and waits for a database that is not there yet: after a boot, the service may be up before the network is, or the
 * database. Meanwhile `/healthz` is 200, and `/readyz` 503 with the reason. What time does not mend ends the start.
 * @throws StoreUnusable
 */
export async function openStoreWhenThere(
  config: Config,
  open: () => Promise<Outbox>,
  { log, emit, clock }: { readonly log: Logger; readonly emit: Emit; readonly clock: Clock },
): Promise<Outbox> {
  let said = ''
  let listener: FastifyInstance | undefined
  try {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        return await open()
      } catch (error) {
        if (!(error instanceof StoreUnusable && error.passes)) throw error
        if (error.message !== said)
          log.warn({ event: 'store', doing: 'wait for the database' }, error.message)
        said = error.message
      }
      if (listener === undefined) {
        listener = openWaitingAdmin(config, clock.now, emit, () => said.split(': ', 1)[0] ?? said)
        await listener.listen({ host: config.ADMIN_HOST, port: config.ADMIN_PORT })
      }
      await pause(pauseMs)
    }
  } finally {
    await listener?.close()
  }
}
