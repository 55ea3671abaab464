import t from 'tap'
import { ATTACKS, flood } from './flood.ts'

t.test('a good callback is answered within 200 ms beside each of ten attacks', t =>
  flood(t, {
    attacks: ATTACKS,
    again: ['idle sockets', 'pipelined requests', 'wrong keys', 'endless bodies'],
    openMs: 700,
    probeMs: 1000,
    p99Ms: 200,
  }),
)
