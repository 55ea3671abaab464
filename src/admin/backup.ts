import { randomBytes } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { open, unlink } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'
import type { Emit } from '../events/events.ts'
import { StoreUnavailable } from '../outbox/outbox.ts'

/**
 * `POST /backup`: a copy of the embedded store as it is when the answer begins, while the service works on.
 * @param backUp copies the store into a file.
 * @param storePath the store's file: the copy is made beside it, where there is room for one and nobody else reads.
 */
export function backupRoute(
  app: FastifyInstance,
  backUp: (file: string) => Promise<void>,
  storePath: string,
  emit: Emit,
): void {
  app.post('/backup', async ({ operator }, reply) => {
    const copy = `${storePath}-backup-${randomBytes(4).toString('hex')}`
    // Made before SQLite would, for the service's user only.
    closeSync(openSync(copy, 'wx', 0o600))
    try {
      await backUp(copy)
      emit({ type: 'operator-backup', operator })
      const handle = await open(copy)
      const { size } = await handle.stat()
      return await reply
        .type('application/octet-stream')
        .header('content-length', size)
        .send(handle.createReadStream())
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      return await reply.code(503).type('text/plain').send(`${error.message}\n`)
    } finally {
      // A file that is open already is read to its end all the same.
      await unlink(copy)
    }
  })
}
