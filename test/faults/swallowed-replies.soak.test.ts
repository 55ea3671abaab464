import t from 'tap'
import { patient } from '../rigs/patience.ts'
import { playSwallowedReplies } from './swallowed-replies.ts'

t.setTimeout(patient(240_000))

// The usual patience and the usual pauses; the usual limit of a reply is five minutes.
playSwallowedReplies(t, { replyMs: 60_000, patienceMs: 20_000, options: { repeatPausesMs: undefined } })
