import t from 'tap'
import { playSmtpFaults } from './smtp.ts'
import { LONG } from './stage.ts'

t.jobs = 4

playSmtpFaults(t, {
  count: LONG ? 400 : 40,
  lastsMs: 1000,
  afterDot: [
    ['stall', true],
    ['drop', true],
    ['stall', false],
    ['drop', false],
  ],
  load: LONG ? 5000 : 300,
  awayMs: LONG ? 10_000 : 2500,
})
