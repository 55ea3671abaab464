import t from 'tap'
import { playHiccups, USUAL } from './hiccups.ts'

t.jobs = 5

playHiccups(t, USUAL)
