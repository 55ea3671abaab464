import type { State } from '../../src/outbox/outbox.ts'

/** Every change of state there is. docs/durability.md draws the same, and a test compares the two. */
export const TRANSITIONS: readonly {
  readonly from: State | 'new'
  readonly to: State
  readonly when: string
}[] = [
  { from: 'new', to: 'sending', when: 'accepted' },
  { from: 'new', to: 'queued', when: 'memory is full' },
  { from: 'queued', to: 'sending', when: 'claimed' },
  { from: 'queued', to: 'expired', when: 'life ended' },
  { from: 'queued', to: 'unknown', when: 'life ended, perhaps sent' },
  { from: 'queued', to: 'superseded', when: 'a newer code, or cancelled' },
  { from: 'queued', to: 'refused', when: 'unreadable' },
  { from: 'queued', to: 'sent', when: 'a report' },
  { from: 'sending', to: 'sent', when: 'accepted, or a report' },
  { from: 'sending', to: 'refused', when: 'refused' },
  { from: 'sending', to: 'queued', when: 'again, or lease lost' },
  { from: 'sending', to: 'expired', when: 'life ends first' },
  { from: 'sending', to: 'superseded', when: 'a newer code' },
  {
    from: 'sending',
    to: 'unknown',
    when: 'perhaps sent, no more copies',
  },
]
