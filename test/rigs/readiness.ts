import { createReadiness } from '../../src/admin/readiness.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { viewOf } from './view.ts'

/** Whether `/readyz` would say yes, of a service in which nothing but the store can fail. */
export function readinessOf({ queries }: Outbox): () => Promise<boolean> {
  const ready = createReadiness(viewOf({ queries }), () => performance.now())
  return async () => (await ready()).ready
}
