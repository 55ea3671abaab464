import t from 'tap'
import { playSmtpCases, playSmtpFaults } from './smtp.ts'

t.test('a mail server at fault', { jobs: 4 }, async t => {
  playSmtpFaults(t, {
    count: 12,
    lastsMs: 300,
    passing: ['a 4xx to the recipient', 'a stall at RCPT', 'a connection dropped at RCPT'],
    afterDot: [['drop', true]],
    load: 100,
    awayMs: 1000,
  })
  playSmtpCases(t)
})
