import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { createBounceMailbox } from '../../src/bounces/mailbox.ts'
import type { EventOf } from '../../src/events/events.ts'

type Options = Parameters<typeof createBounceMailbox>[0]
type Given = Partial<Omit<Options, 'memos' | 'emit'>> & {
  readonly startTls?: boolean
  /** What the store knows of earlier processes. */
  readonly stored?: Map<string, string>
}

/** Reads a mailbox of a server on this machine. Its rests are short, whatever they ask for, and noted. */
export function startMailbox(
  t: Test,
  port: number,
  { startTls = false, stored = new Map(), ...given }: Given = {},
) {
  const events: EventOf<'bounce-mailbox'>[] = []
  const rests: number[] = []
  /** Until when each memo is kept. */
  const expiries: (number | null)[] = []
  const mailbox = createBounceMailbox({
    address: {
      host: '127.0.0.1',
      port,
      secure: false,
      startTls,
      user: 'ann',
      pass: given.tokens === undefined ? 'canary-password' : '',
      mailbox: 'INBOX',
    },
    take: async () => false,
    memos: {
      readMemos: async names => new Map([...stored].filter(([name]) => names.includes(name))),
      async writeMemo({ name, value, expiresAt }) {
        stored.set(name, value)
        expiries.push(expiresAt)
      },
    },
    memoName: 'n',
    async pause(ms) {
      rests.push(ms)
      await sleep(1)
    },
    takeLease: undefined,
    clock: { now: Date.now },
    // What it waits between two connections is neither more nor less than it should be on average.
    random: () => 0.5,
    emit: event => {
      if (event.type === 'bounce-mailbox') events.push(event)
    },
    ...given,
  })
  mailbox.start()
  t.teardown(() => mailbox.stop())
  return { mailbox, events, rests, stored, expiries }
}
