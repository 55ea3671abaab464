import type { State } from '../../src/outbox/outbox.ts'

/** Every change of state there is. docs/durability.md draws the same, and a test compares the two. */
export const TRANSITIONS: readonly {
  readonly from: State | 'new'
  readonly to: State
  readonly when: string
}[] = [
  { from: 'new', to: 'sending', when: 'accepted, handed over from memory' },
  { from: 'new', to: 'queued', when: 'accepted, memory is full' },
  { from: 'queued', to: 'sending', when: 'claimed' },
  { from: 'queued', to: 'expired', when: 'its life ended' },
  { from: 'queued', to: 'unknown', when: 'its life ended after an ambiguous attempt' },
  { from: 'queued', to: 'superseded', when: 'a newer code came, or an operator cancelled it' },
  { from: 'queued', to: 'refused', when: 'its content cannot be read any more' },
  { from: 'queued', to: 'sent', when: 'a delivery report says that it was taken' },
  { from: 'sending', to: 'sent', when: 'the provider accepted it, or a delivery report says so' },
  { from: 'sending', to: 'refused', when: 'the provider refused it for good' },
  { from: 'sending', to: 'queued', when: 'to be tried again, or its lease was lost' },
  { from: 'sending', to: 'expired', when: 'to be tried again, but its life ends before' },
  { from: 'sending', to: 'superseded', when: 'to be tried again, but there is a newer code' },
  {
    from: 'sending',
    to: 'unknown',
    when: 'it may have been sent, and no further copy may be, or its life ended',
  },
]
