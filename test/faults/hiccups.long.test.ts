import t from 'tap'
import { playHiccups, USUAL } from './hiccups.ts'

t.jobs = 5
t.setTimeout(180_000)

playHiccups(t, USUAL)
