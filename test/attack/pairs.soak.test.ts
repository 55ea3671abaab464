import t from 'tap'
import { startProcess } from '../rigs/process.ts'
import { NO_QUOTAS, startSinks } from '../rigs/service.ts'
import { playPairs } from './pairs.ts'

for (const TLS of ['on', 'off'])
  t.test(`ten thousand refused requests, a right one after each, TLS=${TLS}: none is hung up on`, async t => {
    const sinks = await startSinks(t)
    const { publicUrl: url } = await startProcess(t, { ...sinks.settings, ...NO_QUOTAS, TLS })
    for (const connections of [1, 20])
      t.equal(await playPairs({ url, pairs: 10_000, connections }), 0, `${connections} at a time`)
  })
