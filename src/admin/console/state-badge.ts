import { type Sentence, say } from '../../language/sentence.ts'
import type { State } from '../../outbox/outbox.ts'
import { type Html, html } from './html.ts'

export const STATE_WORDS: Readonly<Record<State, Sentence>> = {
  queued: say('waiting'),
  sending: say('being sent'),
  sent: say('sent'),
  refused: say('refused'),
  expired: say('expired'),
  superseded: say('superseded'),
  unknown: say('unknown'),
}

export function stateBadge(state: State): Html {
  return html`<span class="state s-${state}">${STATE_WORDS[state]}</span>`
}
