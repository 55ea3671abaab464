import t from 'tap'
import { patient } from '../rigs/patience.ts'
import { playHiccups, USUAL } from './hiccups.ts'

t.jobs = 5
t.setTimeout(patient(180_000))

playHiccups(t, USUAL)
