import t from 'tap'
import { playSwallowedReplies } from './swallowed-replies.ts'

playSwallowedReplies(t, {
  replyMs: 12_000,
  options: { replyPatienceMs: 2000, repeatPausesMs: [1000, 2000, 4000] },
})
