import t, { type Test } from 'tap'
import { openBusy, pause, SENT, until, verdictOn } from './rig.ts'

/** A loop whose claims hold as long as the test says so, and that claims from the store as long as it says so. */
async function held(t: Test) {
  const state = { holds: true, claims: true }
  const nothing = { messages: [], settled: [], nextDueAt: null, nextCodeAt: null }
  const rig = await openBusy(t, {
    between: outbox => ({
      sharedLeases: { newLeaseToken: () => '', isHeld: () => state.holds },
      claim: async (...given) => (state.claims ? outbox.claim(...given) : nothing),
    }),
  })
  return { ...rig, state }
}

t.test('claims that may be somebody else’s begin nothing and are given back, uncounted', async t => {
  const { state, ...rig } = await held(t)
  const second = await rig.accept()
  const verdict = verdictOn(rig.verdicts, second.acceptance.message.id)
  state.holds = false
  const refused = await rig.accept()
  t.equal(refused.acceptance.lease, undefined, 'a new message is left to the store')
  rig.provider.asked[0]?.answer(SENT)
  t.same(await verdict, { is: 'pending' }, 'nobody waits for it here')
  const { id } = second.acceptance.message
  t.match(await rig.view(rig.first.message.id), { state: 'sent' }, 'what has begun is ended')
  await pause(50)
  t.equal(rig.provider.asked.length, 1)
  state.holds = true
  rig.provider.respond = () => SENT
  await until('all are sent', async () => (await rig.outbox.queries.readSummary(0)).backlog.email === 0)
  t.match(await rig.view(id), { state: 'sent', attempts: 1, ambiguous: 0 })
})

t.test('what was taken over meanwhile is not begun here', async t => {
  const { state, ...rig } = await held(t)
  const other = rig.peer({})
  const { acceptance } = await rig.accept()
  const { id } = acceptance.message
  state.holds = false
  // It is the other loop that takes over.
  state.claims = false
  rig.clock.advance(520_000)
  other.delivery.start()
  await until('the other one has sent it', async () => (await rig.view(id)).state === 'sent')
  rig.provider.asked[0]?.answer(SENT)
  await pause(100)
  t.same(
    rig.provider.asked.map(each => each.id).filter(each => each === id),
    [],
  )
  t.match(await rig.view(id), { state: 'sent', attempts: 1, ambiguous: 0 }, 'nobody else had begun it')
})
