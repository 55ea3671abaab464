import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { openWaitingAdmin } from '../admin/admin.ts'
import type { Config } from '../config/config.ts'
import type { Emit } from '../events/events.ts'
import type { Words } from '../language/sentence.ts'
import { type Outbox, StoreUnusable } from '../outbox/outbox.ts'
import { createBackoff } from '../runtime/backoff.ts'
import type { Clock } from '../runtime/clock.ts'
import { pause } from '../runtime/retry.ts'

const PAUSE_MS = { first: 250, most: 4000 }

/**
 * Opens the store, and waits for a database that is not there yet: after a boot, the service may be up before the network is, or the
 * database. Meanwhile `/healthz` is 200, and `/readyz` 503 with the reason. What time does not mend ends the start.
 * @returns the store; `waiting` is what answered while the database was waited for, and still does: on its port the next listener opens
 *   with `reusePort`
 * @throws StoreUnusable
 */
export async function openStoreWhenThere(
  config: Config,
  open: () => Promise<Outbox>,
  { log, emit, clock }: { readonly log: Logger; readonly emit: Emit; readonly clock: Clock },
) {
  let said = ''
  let reason: Words = 'the database does not answer'
  let waiting: FastifyInstance | null = null
  const backoff = createBackoff(PAUSE_MS)
  try {
    for (;;) {
      try {
        const store = await open()
        reason = 'starting'
        return { store, waiting }
      } catch (error) {
        if (!(error instanceof StoreUnusable && error.passes)) throw error
        if (error.message !== said)
          log.warn({ event: 'store', doing: 'wait for the database' }, error.message)
        said = error.message
      }
      if (waiting === null) {
        waiting = openWaitingAdmin(config, clock.now, emit, () => reason)
        // Fastify hands every option on to Node; its types do not have this one.
        const place = { host: config.ADMIN_HOST, port: config.ADMIN_PORT, reusePort: true }
        await waiting.listen(place)
      }
      await pause(backoff.failed(), undefined)
    }
  } catch (error) {
    await waiting?.close()
    throw error
  }
}
