import t, { type Test } from 'tap'
import { createVerdictPoller } from '../../src/callback/verdict-poller.ts'
import type { Verdict } from '../../src/delivery/port.ts'
import { createVerdicts } from '../../src/delivery/verdicts.ts'
import { createEmitter } from '../../src/events/events.ts'
import { quote } from '../../src/language/sentence.ts'
import type { MessageView, State } from '../../src/outbox/outbox.ts'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'
import { enterVirtualTime } from '../rigs/virtual-time.ts'

function enterTime(t: Test) {
  const time = enterVirtualTime(t)
  const { now } = performance
  performance.now = time.now
  t.teardown(() => void (performance.now = now))
  return time
}

/** Follows a message that the store shows in these states, look by look. */
function following(looks: readonly (Partial<MessageView> | Error | null)[], forMs: number) {
  let looked = 0
  const verdicts = createVerdicts()
  const faults: Error[] = []
  const ids = new Set<string>()
  const follow = createVerdictPoller({
    findMessage: async id => {
      ids.add(id)
      const look = looks[Math.min(looked, looks.length - 1)]
      looked += 1
      if (look instanceof Error) throw look
      return (look ?? null) as MessageView | null
    },
    verdicts,
    clock: { now: () => 1000 },
    emit: createEmitter([{ fault: ({ error }) => void faults.push(error) }]),
    forMs,
  })
  return { follow, verdicts, faults, looked: () => looked, ids }
}

const at = (state: State, dueAt: number | null = null): Partial<MessageView> => ({
  state,
  answer: null,
  dueAt,
})

t.test('the end of a message that another replica sends is heard here', async t => {
  const { pass } = enterTime(t)
  const { follow, verdicts } = following([at('sending'), { state: 'refused', answer: 'recipient' }], 10_000)
  const heard: Verdict[] = []
  verdicts.wait('a', verdict => void heard.push(verdict))
  follow('a')
  await pass(2000)
  t.same(heard, [{ is: 'final', state: 'refused', answer: 'recipient' }])
})

t.test('one that comes back for a retry is pending; a store that is away is asked again', async t => {
  const { pass } = enterTime(t)
  const { follow, verdicts } = following(
    [new StoreUnavailable(quote('away')), null, at('sending'), at('queued', 1000), at('queued', 5000)],
    10_000,
  )
  const heard: Verdict[] = []
  verdicts.wait('a', verdict => void heard.push(verdict))
  follow('a')
  await pass(2000)
  t.same(heard, [{ is: 'pending' }])
})

t.test('it stops looking when nobody can be waiting, or when the end is heard otherwise', async t => {
  const { pass } = enterTime(t)
  const late = following([at('sending')], 1000)
  let stopped = 0
  Object.assign(late.verdicts, { wait: () => () => void (stopped += 1) })
  late.follow('a')
  await pass(10_000)
  t.same([late.looked(), stopped], [3, 1], 'and then waits for it no more')
  const known = following([at('sending')], 10_000)
  for (const id of ['a', 'a']) known.follow(id)
  known.verdicts.announce('a', { is: 'final', state: 'sent', answer: null })
  await pass(10_000)
  t.equal(known.looked(), 0)
})

t.test('no more than 32 at a time, and a fault is named once', async t => {
  const { pass } = enterTime(t)
  const many = following([at('sending')], 10_000)
  for (let n = 0; n < 100; n += 1) many.follow(String(n))
  await pass(350)
  t.equal(many.looked(), 2 * 32, 'each was looked for again')
  t.equal(many.ids.size, 32)
  await pass(12_000)
  const before = many.looked()
  many.follow('0')
  await pass(100)
  t.equal(many.looked(), before + 1, 'nobody can be waiting any more, so there is room again')
  const broken = following([new TypeError('a bug')], 10_000)
  broken.follow('a')
  await pass(10_000)
  t.same([broken.faults.length, broken.looked()], [1, 1])
})
