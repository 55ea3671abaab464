import t from 'tap'
import { playTwilioFaults } from './twilio.ts'

t.jobs = 4

playTwilioFaults(t, { count: 40, lastsMs: 1000, load: 200, awayMs: 2500 })
