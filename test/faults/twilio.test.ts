import t from 'tap'
import { playTwilioFaults } from './twilio.ts'

t.test('a Twilio at fault', { jobs: 4 }, async t =>
  playTwilioFaults(t, {
    count: 12,
    lastsMs: 300,
    only: ['a sender that may not send', 'an HTML page from a gateway, 502', 'a reset after accepting'],
    load: 100,
    awayMs: 1000,
  }),
)
