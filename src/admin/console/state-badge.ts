import type { State } from '../../outbox/outbox.ts'
import { type Html, html } from './html.ts'

/** The console's word for each state. */
export const STATE_WORDS: Readonly<Record<State, string>> = {
  queued: 'waiting',
  sending: 'being sent',
  sent: 'sent',
  refused: 'refused',
  expired: 'expired',
  superseded: 'superseded',
  unknown: 'unknown',
}

export function stateBadge(state: State): Html {
  return html`<span class="state s-${state}">${STATE_WORDS[state]}</span>`
}
