import t from 'tap'
import { flood } from './flood.ts'

t.test(
  'a good callback is answered in time beside every attack; memory is bounded, and the log does not grow with it',
  t =>
    flood(t, {
      attacks: ['slow bodies', 'half-open handshakes', 'wrong keys', 'endless bodies'],
      again: ['endless bodies'],
      openMs: 200,
      probeMs: 300,
      p99Ms: 200,
    }),
)
