import t from 'tap'
import { startProcess } from '../rigs/process.ts'
import { NO_QUOTAS, startSinks } from '../rigs/service.ts'
import { playPairs } from './pairs.ts'

t.test('who waited for the answer to a refused request is never hung up on', async t => {
  const sinks = await startSinks(t)
  const { publicUrl: url } = await startProcess(t, { ...sinks.settings, ...NO_QUOTAS })
  for (const connections of [1, 20])
    t.equal(await playPairs({ url, pairs: 60, connections }), 0, `${connections} at a time`)
})
