import t from 'tap'
import { type Outbox, StoreUnavailable } from '../../src/outbox/outbox.ts'
import { createPostgresOutbox } from '../../src/outbox/postgres/outbox.ts'
import { connectTo, noPostgres, startPostgres } from '../rigs/postgres.ts'
import { STORE, sample } from './samples.ts'

const clock = { now: Date.now }

function open(url: string): Promise<Outbox> {
  return createPostgresOutbox({ ...STORE, clock, url, statementTimeoutMs: 3000 })
}

t.test('what an administrator set for all sessions is not what ours have', { skip: noPostgres }, async t => {
  const rig = await startPostgres(t)
  const url = await rig.url()
  const admin = await connectTo(rig.adminUrl)
  for (const setting of [
    "default_transaction_isolation = 'repeatable read'",
    'default_transaction_read_only = on',
    'synchronous_commit = off',
  ])
    await admin.query(`ALTER DATABASE postgres SET ${setting}`)
  await admin.end()
  const outboxes = [await open(url), await open(url), await open(url)]
  const accepted = await Promise.all(
    Array.from({ length: 300 }, async (_, n) => {
      const given = {
        ...sample(clock, { recipient: `r${n % 7}@example.com` }),
        charges: [{ quota: 'all', bucket: 'all', windowMs: 60_000, limit: 1000 }],
      }
      return (await outboxes[n % 3]?.accept([given]))?.[0]?.is
    }),
  )
  t.notOk(accepted.includes(undefined))
  t.equal(accepted.length, 300, 'none failed because another one was first')
  await Promise.all(outboxes.map(each => each.close()))
})

t.test(
  'of several hosts, the one that can be written is used, also after a promotion under load',
  { skip: noPostgres },
  async t => {
    const rig = await startPostgres(t)
    const schema = new URL(await rig.url()).searchParams.get('options') ?? ''
    const standby = await rig.startStandby()
    const primary = new URL(rig.adminUrl).searchParams.get('host') ?? ''
    const hosts = [standby.host, primary].map(encodeURIComponent).join()
    const outbox = await open(
      `postgres://courier@${hosts}/postgres?target_session_attrs=read-write&options=${encodeURIComponent(schema)}`,
    )
    const stored: string[] = []
    let isEnding = false
    const load = [0, 1, 2, 3].map(async caller => {
      for (let n = 0; !isEnding; n += 1) {
        const given = sample(clock, { recipient: `c${caller}-${n}@example.com` })
        try {
          await outbox.accept([given])
          stored.push(given.message.id)
        } catch (error) {
          if (!(error instanceof StoreUnavailable)) throw error
          await new Promise(resolve => setTimeout(resolve, 20))
        }
      }
    })
    const more = async (count: number) => {
      const before = stored.length
      for (const end = Date.now() + 30_000; stored.length < before + count; ) {
        if (Date.now() > end) throw new Error('nothing is stored any more')
        await new Promise(resolve => setTimeout(resolve, 20))
      }
    }
    await more(50)
    await rig.stop()
    await standby.promote()
    await more(50)
    isEnding = true
    await Promise.all(load)
    for (const id of stored) if ((await outbox.queries.findMessage(id)) === null) t.fail(`${id} is lost`)
    t.equal(await outbox.queries.probeCommit(), true)
    await outbox.close()
  },
)
