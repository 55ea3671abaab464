import t from 'tap'
import { lookInto } from '../chaos/rows.ts'
import { pause } from '../faults/stage.ts'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { until } from '../rigs/service.ts'
import { MAIN, nothingLost, refusedOf, runUpdate } from './update.ts'

const OLD = 'the-old-store-secret-of-two-replicas'
const NEW = 'the-new-store-secret-of-two-replicas'

t.test(
  'STORE_SECRET is replaced in three rounds through two replicas, while messages of either secret wait',
  { skip: noPostgres },
  async t => {
    const postgres = await startPostgres()
    t.teardown(() => postgres.close())
    const databaseUrl = await postgres.url()
    const store = lookInto(databaseUrl)
    const updated = await runUpdate(t, {
      databaseUrl,
      processes: 2,
      first: MAIN,
      secrets: [OLD, NEW],
      settings: { ANSWER_WITHIN_MS: '300' },
      // Two replicas that write with different secrets do not know each other's duplicates.
      twinShare: 0,
      async update(replicas, holdMails) {
        const round = async (env: Readonly<Record<string, string>>) => {
          for (const replica of replicas) await replica.replace({ env })
          return Date.now()
        }
        holdMails(true)
        await pause(2000)
        const prepared = await round({ STORE_SECRET_PREVIOUS: NEW })
        const swapped = await round({ STORE_SECRET: NEW, STORE_SECRET_PREVIOUS: OLD })
        const ofOld = (await store.live(prepared)) ?? 0
        t.ok(ofOld > 10, `${ofOld} wait that were written with the old secret`)
        await pause(2000)
        const ofNew = ((await store.live()) ?? 0) - ((await store.live(swapped)) ?? 0)
        t.ok(ofNew > 5, `${ofNew} with the new one`)
        holdMails(false)
        await until(async () => (await store.live(swapped)) === 0, 'what the old one wrote is sent')
        await round({ STORE_SECRET_PREVIOUS: '' })
      },
      rows: () => store.rows(),
    })
    nothingLost(t, updated)
    t.same(refusedOf(updated), [])
  },
)
