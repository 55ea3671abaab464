import t from 'tap'
import { playSwallowedReplies } from './swallowed-replies.ts'

// The usual patience and the usual pauses; the usual limit of a reply is five minutes.
playSwallowedReplies(t, { replyMs: 60_000, options: { repeatPausesMs: undefined } })
