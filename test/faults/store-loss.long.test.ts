import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { checkSaid, playLoss } from './store-loss.ts'

t.test('a WAL that is cut off or wrong in its middle: the rest of it is said to be missing', async t => {
  const count = 100
  const start = await playLoss(t, count)
  const harms = {
    'cut off': (wal: string) => truncateSync(wal, readFileSync(wal).length / 2),
    'wrong in its middle': (wal: string) => {
      const bytes = readFileSync(wal)
      writeFileSync(wal, bytes.fill(0x5a, bytes.length / 2, bytes.length / 2 + 100))
    },
  }
  for (const [name, harm] of Object.entries(harms)) {
    const said = await start(harm)
    t.ok(said.there > 0 && said.there < count, `${name}: ${said.there} are there`)
    checkSaid(t, said, count - said.there)
  }
})
