import { createReadiness } from '../../src/admin/readiness.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'

/** Whether `/readyz` would say yes, of a service in which nothing but the store can fail. */
export function readinessOf({ queries }: Outbox): () => Promise<boolean> {
  const ready = createReadiness({
    draining: () => false,
    probe: () => queries.probeCommit(),
    health: { providers: () => [] },
    channelStatus: () => [],
    renewalRefused: () => false,
    isBrakeGone: false,
    storeLoss: () => null,
    monotonic: () => performance.now(),
  })
  return async () => (await ready()).ready
}
