import t from 'tap'
import { LONG } from './stage.ts'
import { playTwilioFaults } from './twilio.ts'

t.jobs = 4

playTwilioFaults(t, { count: LONG ? 400 : 40, lastsMs: 1000, load: 200, awayMs: 2500 })
