import t from 'tap'
import { playSmtpCases, playSmtpFaults } from './smtp.ts'

t.jobs = 4

playSmtpFaults(t, {
  count: 40,
  lastsMs: 1000,
  afterDot: [
    ['stall', true],
    ['drop', true],
    ['stall', false],
    ['drop', false],
  ],
  load: 300,
  awayMs: 2500,
})
playSmtpCases(t)
