import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createSqliteOutbox, type SqliteOutboxOptions } from '../../src/outbox/sqlite/outbox.ts'
import { until } from '../rigs/until.ts'
import type { Create, StoreOptions } from './contract.ts'
import { STORE } from './samples.ts'

/** Opens stores in folders of `directory`. @param startThread a thread each unless given. */
export function createStores(directory: string, startThread?: SqliteOutboxOptions['startThread']): Create {
  let stores = 0
  return async options => {
    stores += 1
    const path = join(directory, `${stores}`, 'outbox.db')
    const defaults = { ...STORE, path, emptyWalEveryMs: 20, startThread }
    const open = (changed: Partial<StoreOptions> = {}) =>
      createSqliteOutbox({ ...defaults, ...options, ...changed })
    let outbox = await open()
    return {
      outbox,
      peer: () => Promise.resolve(outbox),
      async reopen(changed) {
        await outbox.close()
        outbox = await open(changed)
        return outbox
      },
      end: async () => {},
      async bytes() {
        // The WAL is emptied every 20 ms here, every minute in the service.
        await until(async () => (await stat(`${path}-wal`)).size === 0, 'the WAL is emptied')
        const files = [path, `${path}-wal`].map(file => readFile(file).catch(() => Buffer.alloc(0)))
        return Buffer.concat(await Promise.all(files))
      },
      async rows() {
        // The store holds its file, and may write to it at any time: its backup is of one moment.
        const copy = `${path}-copy`
        await outbox.backUp?.(copy)
        const db = new DatabaseSync(copy)
        const rows = db.prepare('SELECT * FROM messages ORDER BY seq').all()
        db.close()
        return rows.map(row => ({ payload: row['payload'] as Uint8Array | null, row: JSON.stringify(row) }))
      },
      close: () => outbox.close(),
    }
  }
}
