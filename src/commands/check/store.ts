import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Config } from '../../config/config.ts'
import { type Outbox, StoreUnusable } from '../../outbox/outbox.ts'
import { type CheckResult, fail, ok } from '../../runtime/check-result.ts'

/** What the private listener says. */
export type ServiceStatus =
  | { readonly is: 'absent' }
  | { readonly is: 'ready' }
  | { readonly is: 'unready'; readonly reason: string }

/**
 * Whether the store can be used. A running service holds the embedded store by a lock, so it is asked; when there is
 * none, or when the store is a shared one, it is opened, made to commit and closed. An embedded one that does not exist yet is not made: whoever runs this
 * may be another user than the service.
 * @param running asks the private listener of a running service, if there is one.
 */
export async function checkStore(
  config: Config,
  open: () => Promise<Outbox>,
  running: () => Promise<ServiceStatus>,
): Promise<readonly CheckResult[]> {
  const { DATABASE_URL: store } = config
  const service = await running()
  // A shared store can be tried beside the service: the settings may name another one than the service has.
  if (service.is === 'ready' && store.kind === 'file')
    return [ok('store', 'the running service says that it commits')]
  if (service.is === 'unready')
    return [
      fail('store', `the running service does not accept callbacks: ${service.reason}`, 'look at its log'),
      ...(store.kind === 'postgres' ? [await tryIt(open)] : []),
    ]
  if (store.kind === 'file' && !existsSync(store.path)) return [notThereYet(store.path)]
  return [await tryIt(open)]
}

async function tryIt(open: () => Promise<Outbox>): Promise<CheckResult> {
  try {
    const outbox = await open()
    try {
      if (await outbox.queries.probeCommit()) return ok('store', 'opens and commits')
      return fail('store', 'opens, but cannot commit', 'look for a full disk or a read-only mount')
    } finally {
      await outbox.close()
    }
  } catch (error) {
    if (!(error instanceof StoreUnusable)) throw error
    const [what = error.message, next = 'see docs/operations.md'] = error.message.split(/: (.*)/)
    return fail('store', what, next)
  }
}

/** Looks at the nearest folder that there is. */
function notThereYet(path: string): CheckResult {
  let folder = dirname(path)
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  try {
    accessSync(folder, constants.W_OK)
    return ok('store', `${path} will be made at the first start`)
  } catch {
    return fail(
      'store',
      `${path} cannot be made: ${folder} is not writable`,
      'make it writable for the service’s user',
    )
  }
}
