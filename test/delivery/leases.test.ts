import t from 'tap'
import { type Outbox } from '../../src/outbox/outbox.ts'
import { openBusy, openRig, pause, SENT, until } from './rig.ts'

const lease = { attemptWithinMs: 100_000, leaseMs: 100_100 }

t.test(
  'a lease runs out while the reply is on its way: taken over as ambiguous, the late end is lost',
  async t => {
    const held = new Set<number>()
    // The first loop claims nothing itself, so that it is the other one that takes over.
    const nothing: Outbox['claim'] = async (_channel, _limit, leaseMs) => {
      held.add(leaseMs)
      return { messages: [], settled: [], nextDueAt: null, nextCodeAt: null }
    }
    const rig = await openBusy(t, { ...lease, between: () => ({ claim: nothing }) })
    const other = rig.peer(lease)
    const { id } = rig.first.message
    t.equal(rig.first.lease?.until, rig.clock.now() + 100_100)
    t.same([...held], [100_100], 'a claim says for how long, and not until when')
    rig.clock.advance(100_100)
    other.provider.respond = undefined
    other.delivery.start()
    await until('it is taken over', async () => (await rig.view(id)).ambiguous === 1)
    rig.clock.advance(5000)
    await until('another sends it', () => other.provider.asked.length === 1)
    t.match(await rig.view(id), { state: 'sending', attempts: 2, ambiguous: 1 })
    rig.provider.asked[0]?.answer({ is: 'rejected', scope: 'recipient', code: '550', reply: '' })
    await pause(100)
    t.match(await rig.view(id), { state: 'sending', answer: null }, 'the late end is not written')
    other.provider.asked[0]?.answer(SENT)
    await until('it is sent', async () => (await rig.view(id)).state === 'sent')
    t.equal(rig.provider.asked.length + other.provider.asked.length, 2)
  },
)

t.test('two loops on one store send each message once', async t => {
  const rig = await openRig(t)
  const other = rig.peer()
  for (let n = 0; n < 200; n += 1) await rig.store({ code: `c${n}` })
  rig.delivery.start()
  other.delivery.start()
  await until('all are sent', async () => (await rig.outbox.queries.readSummary(0)).backlog.email === 0)
  const ids = [...rig.provider.asked, ...other.provider.asked].map(each => each.id)
  t.equal(ids.length, 200)
  t.equal(new Set(ids).size, 200)
})

t.test(
  'what a channel has left behind that is switched off ends with its life, or is taken over',
  async t => {
    const rig = await openRig(t)
    const old = await rig.store({ channel: 'sms', recipient: '+8613800138000', lifeMs: 60_000 })
    const { message: young } = await rig.store({
      channel: 'sms',
      recipient: '+8613800138001',
      lifeMs: 600_000,
    })
    // From then on the newest goes first.
    rig.clock.advance(1000)
    await rig.outbox.claim('sms', 1, 1000)
    rig.clock.advance(60_000)
    rig.delivery.start()
    await until('the old one has ended', () => rig.events.includes('final expired'))
    t.match(await rig.view(old.message.id), { state: 'expired' })
    t.match(await rig.view(young.id), { state: 'queued', attempts: 0, ambiguous: 0 }, 'it never began')
    t.equal(rig.provider.asked.length, 0)
  },
)
