import t from 'tap'
import { createAttempts } from '../../src/delivery/attempt.ts'
import { createCarrier } from '../../src/delivery/carrier.ts'
import type { Outcome } from '../../src/providers/provider.ts'
import { NOON, sample } from '../outbox/samples.ts'
import { rendered } from './rig.ts'

const LATER = { is: 'retry', whose: 'later', code: '451', reply: '' } as const
const NAMED = { ...LATER, retryAfterMs: 60_000 } as const
const DENIED = { is: 'retry', whose: 'ours', scope: 'message', code: '554', reply: '' } as const
const REVIEW = { is: 'retry', whose: 'ours', scope: 'template', code: 'review', reply: '' } as const

/** What a message waits for after two carriers said this. */
async function waitAfter(...said: readonly Outcome[]): Promise<string | undefined> {
  const clock = { now: () => NOON }
  const carriers = said.map((outcome, at) =>
    createCarrier(
      {
        name: `carrier ${at}`,
        channel: 'email',
        concurrency: 2,
        scopesOf: () => ({ template: 'SMS_1' }),
        send: async () => outcome,
        verify: async () => ({ ok: true, detail: '' }),
        close: async () => {},
      },
      { clock, random: () => 0.5 },
    ),
  )
  const attempts = createAttempts(
    { channel: 'email', carriers, route: () => carriers, render: rendered },
    {
      outbox: { beginAttempt: () => undefined } as never,
      clock,
      random: () => 0.5,
      emit: () => {},
      attemptWithinMs: 60_000,
      run: { isStopping: false },
    },
    () => {},
  )
  const lease = { token: 'lease 1', until: NOON + 120_000 }
  const { message } = sample(clock)
  const { waitsFor } = await attempts.run({ message, lease, attempts: 1, ambiguous: 0, carriers })
  return waitsFor
}

t.test('an end of somebody else’s fault brings nothing forward whose carrier named a time', async t => {
  t.equal(await waitAfter(LATER, LATER), undefined, 'it comes again by itself')
  t.equal(await waitAfter(LATER, DENIED), 'repair')
  t.equal(await waitAfter(DENIED, LATER), 'repair')
  t.equal(await waitAfter(DENIED, REVIEW), 'part')
  t.equal(await waitAfter(REVIEW, DENIED), 'part')
  for (const other of [LATER, DENIED, REVIEW]) {
    t.equal(await waitAfter(NAMED, other), undefined)
    t.equal(await waitAfter(other, NAMED), undefined)
  }
})
