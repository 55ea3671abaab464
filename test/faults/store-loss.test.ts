import { rmSync } from 'node:fs'
import t from 'tap'
import { checkSaid, playLoss } from './store-loss.ts'

t.test('a WAL that is deleted after a kill: said with the number; one that is whole: nothing', async t => {
  const start = await playLoss(t, 24)
  const said = await start(rmSync)
  t.equal(said.there, 0)
  checkSaid(t, said, 24)
  const whole = await start(() => {})
  t.match(whole, { lines: [], metric: 0, console: null, there: 24 })
  t.notOk('lost' in whole.ready)
})
