import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { cpuMs } from '../../bench/child.ts'
import { connectTo, noPostgres, startPostgres } from '../rigs/postgres.ts'
import { startProcess } from '../rigs/process.ts'
import { startSinks } from '../rigs/service.ts'

const SECONDS = 12

t.test(
  'a replica that has nothing to do costs little, and asks its database for little',
  { skip: noPostgres },
  async t => {
    const postgres = await startPostgres(t)
    const { settings } = await startSinks(t)
    const { child } = await startProcess(t, {
      ...settings,
      DATABASE_URL: await postgres.url(),
      STORE_SECRET: `t${randomBytes(16).toString('hex')}x`,
    })
    const client = await connectTo(postgres.adminUrl)
    t.teardown(() => client.end())
    const count = async (): Promise<number> => {
      const { rows } = await client.query<{ n: string }>(
        'SELECT sum(xact_commit + xact_rollback) AS n FROM pg_stat_database WHERE datname = current_database()',
      )
      return Number(rows[0]?.n)
    }
    await sleep(4000)
    const pid = child.pid ?? 0
    const wakes = () =>
      Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
    const before = { transactions: await count(), wakes: wakes(), cpu: cpuMs(pid) }
    await sleep(SECONDS * 1000)
    const perSecond = ((await count()) - before.transactions) / SECONDS
    const wakesPerSecond = (wakes() - before.wakes) / SECONDS
    const idle = cpuMs(pid) - before.cpu
    // Its own start is the twin: the same program, on the same machine.
    t.ok(idle < before.cpu / 3, `${SECONDS} s cost ${idle} ms of the processor, its start ${before.cpu} ms`)
    t.ok(wakesPerSecond <= 40, `its main thread wakes ${wakesPerSecond.toFixed(1)} times a second`)
    t.ok(perSecond > 0.5, 'it is alive')
    t.ok(perSecond <= 3, `${perSecond.toFixed(2)} transactions a second`)
  },
)
