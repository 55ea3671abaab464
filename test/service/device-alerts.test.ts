import t from 'tap'
import { DDQ_TIMINGS } from '../../src/service/device-alerts.ts'

t.test('device alerts keep the times of the contract’s client sample', async t => {
  t.match(DDQ_TIMINGS, { heartbeatMs: 1000, silenceMs: 15_000, reconnectMs: 5000 })
})
