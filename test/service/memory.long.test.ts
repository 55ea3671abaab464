import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { enough } from '../config/settings.ts'
import { startProcess } from '../rigs/process.ts'
import { until } from '../rigs/service.ts'

/** What it takes is in docs/performance.md; a dependency or a habit that costs 50 MB more shall not go unseen, MiB. */
const IDLE_MB = 170
/** All that it needs is loaded by then, and the garbage of the start collected, ms; the machine may be busy. */
const AFTER_MS = 4000

t.test('an idle service takes no more memory than it needs, and says nothing beside its log', async t => {
  const service = await startProcess(t, {
    ...enough,
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    DATABASE_URL: `file:${join(t.testdir({}), 'outbox.db')}`,
    // As in the image: without it the young generation grows with the machine.
    NODE_OPTIONS: '--max-semi-space-size=32 --v8-pool-size=1',
  })
  await pause(AFTER_MS)
  await until(() => service.memory() < IDLE_MB, `its memory is below ${IDLE_MB} MB`)
  t.equal(service.stderr(), '', 'no warning of a library')
  t.comment(`${Math.round(service.memory())} MB`)
})
