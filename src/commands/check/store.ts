import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Config } from '../../config/config.ts'
import { type Outbox, StoreUnusable } from '../../outbox/outbox.ts'
import { type CheckResult, checkFailure, checkOk, checkWarning } from '../../runtime/check-result.ts'

/** The state of a running service, as its private listener answers. */
export type ServiceStatus =
  | { readonly is: 'absent' }
  | { readonly is: 'ready' }
  | { readonly is: 'unready'; readonly reason: string }

/**
 * Checks whether the store can be used. A running service locks the embedded store, so it is asked; without one, or with a
 * shared store, the store is opened, made to commit and closed. An embedded store that does not exist yet is not created,
 * because the command may run as another user than the service.
 * @param askService asks the private listener of a running service, if there is one.
 */
export async function checkStore(
  config: Config,
  open: () => Promise<Outbox>,
  askService: () => Promise<ServiceStatus>,
): Promise<readonly CheckResult[]> {
  const { DATABASE_URL: store } = config
  const service = await askService()
  // A shared store is tried all the same: the settings may name another one than the service uses.
  if (service.is === 'ready' && store.kind === 'file')
    return [checkOk('store', 'the running service says that it commits')]
  if (service.is === 'unready')
    return [
      checkFailure(
        'store',
        `the running service does not accept callbacks: ${service.reason}`,
        'look at its log',
      ),
      ...(store.kind === 'postgres' ? [await tryStore(open)] : []),
    ]
  if (store.kind === 'file' && !existsSync(store.path)) return [checkCreatable(store.path)]
  return [await tryStore(open)]
}

async function tryStore(open: () => Promise<Outbox>): Promise<CheckResult> {
  try {
    const outbox = await open()
    try {
      const commits = await outbox.queries.probeCommit()
      const loss = outbox.loss?.() ?? null
      if (commits && loss !== null)
        return checkWarning(
          'store',
          `opens and commits, but lacks ${loss.messages} messages that it had stored`,
          'see docs/operations.md, CallbackCourierStoreLoss',
        )
      if (commits) return checkOk('store', 'opens and commits')
      return checkFailure('store', 'opens, but cannot commit', 'look for a full disk or a read-only mount')
    } finally {
      await outbox.close()
    }
  } catch (error) {
    if (!(error instanceof StoreUnusable)) throw error
    const [what = error.message, next = 'see docs/operations.md'] = error.message.split(/: (.*)/)
    return checkFailure('store', what, next)
  }
}

/** Checks whether the nearest existing folder is writable. */
function checkCreatable(path: string): CheckResult {
  let folder = dirname(path)
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  try {
    accessSync(folder, constants.W_OK)
    return checkOk('store', `${path} will be made at the first start`)
  } catch {
    return checkFailure(
      'store',
      `${path} cannot be made: ${folder} is not writable`,
      'make it writable for the service’s user',
    )
  }
}
