import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Outcome } from '../../src/providers/provider.ts'
import { testClock } from '../outbox/samples.ts'
import { type FakeCarrier, fakeCarrier, openDelivery, openStore } from './failover-rig.ts'
import { until } from './rig.ts'

const OUTCOMES = {
  sent: { is: 'sent', reply: 'ok', providerId: 'id-1' },
  later: { is: 'retry', whose: 'later', code: 'busy', reply: 'busy' },
  unreachable: { is: 'retry', whose: 'later', code: 'ECONNREFUSED', reply: '', untouched: true },
  ours: { is: 'retry', whose: 'ours', code: 'password', reply: 'wrong password' },
  'number limit': { is: 'limit', scope: 'recipient', code: 'hour', reply: 'no more', retryAfterMs: 60_000 },
  'account limit': { is: 'limit', scope: 'account', code: 'day', reply: 'no more', retryAfterMs: 60_000 },
  recipient: { is: 'rejected', scope: 'recipient', code: 'no-number', reply: '' },
  content: { is: 'rejected', scope: 'message', code: 'words', reply: '' },
  country: { is: 'rejected', scope: 'country', code: 'country', reply: '' },
  ambiguous: { is: 'ambiguous', code: 'reply-limit', reply: 'no answer' },
} as const satisfies Readonly<Record<string, Outcome>>
type Name = keyof typeof OUTCOMES | 'does not fit'

/** After these the next carrier is asked. */
const SURELY_NOT_SENT: readonly Name[] = [
  'later',
  'unreachable',
  'ours',
  'number limit',
  'account limit',
  'content',
  'country',
  'does not fit',
]

/** What the caller hears, and the state, when this was the last word. */
const ENDS: Readonly<Partial<Record<Name, readonly [state: string, answer: string | null]>>> = {
  sent: ['sent', null],
  recipient: ['refused', 'recipient'],
}

function carrierThat(name: Name): FakeCarrier {
  const carrier = fakeCarrier(name === 'does not fit' ? OUTCOMES.sent : OUTCOMES[name])
  if (name === 'does not fit') carrier.fits = () => 'no template for it'
  return carrier
}

const shared = openShared()

async function openShared() {
  const clock = testClock()
  return { clock, outbox: await openStore(join(t.testdir({}), 'outbox.db'), clock) }
}

t.teardown(async () => (await shared).outbox.close())

async function open(t: Test, carriers: Readonly<Record<string, FakeCarrier>>) {
  const { outbox, clock } = await shared
  const rig = openDelivery({ outbox, clock }, carriers)
  t.teardown(async () => {
    await rig.delivery.stop(0, 200)
    // What is left is over, so that the next test finds none of it.
    clock.advance(3_600_000)
    await outbox.claim('sms', 0, 1000)
  })
  const view = async (id: string) => {
    const found = await outbox.queries.findMessage(id)
    if (found === null) throw new Error('there is no such message')
    return found
  }
  /** The message once its attempt is settled. */
  async function settled(id: string) {
    await until('the end of the attempt', async () => (await view(id)).state !== 'sending')
    return view(id)
  }
  return { ...rig, clock, outbox, view, settled }
}

/** What all of them refused, or could not say, for no reason of the recipient's: the last one's reason; undefined: it lives. */
function refusedByAll(...pair: readonly Name[]): Name | undefined {
  const isRefused = pair.every(each => ['content', 'country', 'does not fit'].includes(each))
  return isRefused ? pair.findLast(each => each !== 'does not fit') : undefined
}

const names: readonly Name[] = [...(Object.keys(OUTCOMES) as Name[]), 'does not fit']

t.test('for each pair of outcomes: who is asked, what is answered, what the timeline says', async t => {
  for (const one of names) {
    for (const two of names) {
      const [first, second] = [carrierThat(one), carrierThat(two)]
      const { accept, settled, attempts, delivery } = await open(t, { first, second })
      const { id, verdict } = await accept()
      const message = await settled(id)
      const goesOn = SURELY_NOT_SENT.includes(one)
      const about = `${one}, then ${two}`
      t.same(
        [first.asked.length, second.asked.length],
        [one === 'does not fit' ? 0 : 1, goesOn && two !== 'does not fit' ? 1 : 0],
        about,
      )
      const last = goesOn ? two : one
      const end = ENDS[last]
      const refused = refusedByAll(one, two)
      if (end !== undefined) t.match([message.state, message.answer], end, about)
      else if (refused !== undefined) t.match(message, { state: 'refused', answer: refused }, about)
      else t.match(message, { state: 'queued', ambiguous: last === 'ambiguous' ? 1 : 0 }, about)
      t.match(await verdict, { is: message.state === 'queued' ? 'pending' : 'final' }, about)
      const asked = [
        { provider: 'first', outcome: one === 'does not fit' ? 'skipped' : OUTCOMES[one].is },
        ...(goesOn
          ? [{ provider: 'second', outcome: two === 'does not fit' ? 'skipped' : OUTCOMES[two].is }]
          : []),
      ]
      t.match(message.timeline, asked, about)
      t.equal(message.timeline.length, asked.length, about)
      const nobody = one === 'does not fit' && two === 'does not fit'
      t.match(
        attempts.map(({ provider, outcome }) => [provider, outcome.is]),
        nobody
          ? [['first', 'retry']]
          : asked.filter(each => each.outcome !== 'skipped').map(each => [each.provider, each.outcome]),
        about,
      )
      if (nobody) t.match(attempts[0]?.outcome, { whose: 'ours', code: 'no-carrier-fits' })
      await delivery.stop(0, 200)
    }
  }
})

t.test(
  'what any of them has to say to the operator is not lost, and the first that may come again decides when',
  async t => {
    const due = async (one: Name, two: Name) => {
      const { accept, settled, clock } = await open(t, { first: carrierThat(one), second: carrierThat(two) })
      const { id } = await accept()
      return ((await settled(id)).dueAt ?? 0) - clock.now()
    }
    t.equal(await due('number limit', 'number limit'), 60_500)
    t.equal(await due('number limit', 'unreachable'), 500, 'the second may come back sooner')
    t.equal(await due('account limit', 'number limit'), 60_500)
  },
)

for (const isRestarted of [false, true])
  t.test(
    `an SMS that the second may have taken is asked for and repeated there alone${isRestarted ? ', after a restart too' : ''}`,
    async t => {
      const [first, second] = [carrierThat('unreachable'), carrierThat('ambiguous')]
      second.lookUp = () => ({ is: 'not-known', reply: 'not there yet' })
      const path = join(t.testdir({}), `outbox.db`)
      const clock = testClock()
      let outbox = await openStore(path, clock)
      let rig = openDelivery({ outbox, clock }, { first, second })
      const { id } = await rig.accept()
      const view = async () => outbox.queries.findMessage(id)
      await until('the end', async () => (await view())?.state === 'queued')
      first.send = () => OUTCOMES.sent
      if (isRestarted) {
        await rig.delivery.stop(0, 200)
        await outbox.close()
        outbox = await openStore(path, clock)
        rig = openDelivery({ outbox, clock }, { first, second })
      }
      rig.delivery.start()
      second.send = () => OUTCOMES.sent
      clock.advance(10_000)
      rig.delivery.wake('sms')
      await until('the second copy', async () => (await view())?.state === 'sent')
      t.same([first.asked.length, second.asked.length, second.lookedUp.length], [1, 2, 1])
      t.match((await view())?.timeline, [
        { provider: 'first', outcome: 'retry' },
        { provider: 'second', outcome: 'ambiguous' },
        { provider: 'second', outcome: 'looked-up', code: 'not-known' },
        { provider: 'second', outcome: 'sent' },
      ])
      await rig.delivery.stop(0, 200)
      await outbox.close()
    },
  )

t.test('one that is busy keeps nobody waiting who goes another way', async t => {
  const [first, second] = [carrierThat('sent'), carrierThat('sent')]
  let release = (): void => {}
  const held = new Promise<Outcome>(resolve => {
    release = () => resolve(OUTCOMES.sent)
  })
  first.send = () => held
  const clock = testClock()
  const outbox = await openStore(join(t.testdir({}), 'outbox.db'), clock)
  const rig = openDelivery({ outbox, clock }, { first, second }, { byDigit: true })
  for (let n = 0; n < 30; n += 1) await rig.accept({ recipient: `+8613800138${100 + n}1` })
  await until('all places of the first', () => first.asked.length === 10)
  const { verdict } = await rig.accept({ recipient: '+86138001382222' })
  t.match(await verdict, { is: 'final', state: 'sent' })
  t.same([first.asked.length, second.asked.length], [10, 1])
  release()
  await until('the rest', () => first.asked.length === 30)
  await rig.delivery.stop(1000, 200)
  await outbox.close()
})
