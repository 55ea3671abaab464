import type { Test } from 'tap'
import { faultOf } from '../../../src/bounces/codes.ts'
import { countLeftOut, refuseBounced } from '../../../src/bounces/refusing.ts'
import type { DeliveryReport } from '../../../src/outbox/outbox.ts'
import type { Create } from '../contract.ts'
import { lease, recipientHashOf, type Sample, sample } from '../samples.ts'
import { type Fresh, fresh, kinds } from './store.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const TO = 'ann@example.com'

async function send({ outbox, clock }: Fresh, given: Sample = {}): Promise<string> {
  const held = { ...lease(clock), begins: true }
  const acceptance = sample(clock, { code: String(Math.random()), lease: held, ...given })
  await outbox.accept([acceptance])
  await outbox.settle(acceptance.message.id, held, { to: 'final', state: 'sent', answer: null })
  return acceptance.message.id
}

async function report(
  { outbox, clock }: Pick<Fresh, 'outbox' | 'clock'>,
  id: string,
  errorCode = '5.1.1',
  more: Partial<DeliveryReport> = {},
): Promise<string> {
  const recipients = [recipientHashOf('email', TO)]
  const about = { status: 'undelivered', errorCode, fault: faultOf(errorCode), at: clock.now() }
  return (await outbox.writeReceipt({ channel: 'email', id, recipients, ...about, ...more })).is
}

/** Mails that come back, and what is refused because of them. */
export async function bouncing(t: Test, create: Create): Promise<void> {
  await t.test('a mail that came back stays sent, with the report beside it, and counts once', async t => {
    const store = await fresh(t, create)
    const id = await send(store)
    t.equal(
      await report(store, id, '5.1.1', { recipients: [recipientHashOf('email', 'eve@example.com')] }),
      'unknown',
    )
    t.equal(await report(store, '0'.repeat(32)), 'unknown')
    t.match(await store.view(id), { receipt: null })
    t.equal(await report(store, id), 'recorded')
    const again = await Promise.all([report(store, id), report({ ...store, outbox: await store.peer() }, id)])
    t.same(again, ['stale', 'stale'])
    t.match(await store.view(id), {
      state: 'sent',
      providerId: null,
      receipt: { status: 'undelivered', errorCode: '5.1.1', at: store.clock.now() },
    })
  })

  const LINK = { kind: 'registration-activation', purpose: 'link' } as const
  const ALARM = { kind: 'member-alarm', purpose: 'alarm' } as const

  /** What becomes of a message that comes now. */
  async function ask(store: Fresh, given: Sample): Promise<string | undefined> {
    const accept = refuseBounced(store.outbox, store.clock.now)
    return kinds(await accept([sample(store.clock, { dedupeKey: String(Math.random()), ...given })]))[0]
  }

  const leftOut = async ({ outbox, clock }: Fresh): Promise<number> =>
    countLeftOut(await outbox.queries.readSummary(clock.now() - HOUR))

  await t.test('after one that came back, links are refused for 15 min', async t => {
    const store = await fresh(t, create)
    t.equal(await leftOut(store), 0)
    await report(store, await send(store))
    t.equal(await ask(store, LINK), 'bounced')
    t.equal(await leftOut(store), 1)
    t.equal(await ask(store, ALARM), 'stored')
    const accept = refuseBounced(await store.peer(), store.clock.now)
    const both = [TO, 'bob@example.com', TO].map((recipient, n) =>
      sample(store.clock, { ...LINK, recipient, dedupeKey: `k${n}` }),
    )
    t.same(
      kinds(await accept(both)),
      ['bounced', 'stored', 'bounced'],
      'each by itself, and at another process',
    )
    store.clock.advance(15 * MINUTE)
    t.equal(await ask(store, LINK), 'stored')
    t.equal(await leftOut(store), 0)
  })

  await t.test('after two an hour apart, alarms are refused for a day, then one is tried', async t => {
    const store = await fresh(t, create)
    await report(store, await send(store))
    store.clock.advance(HOUR)
    await report(store, await send(store))
    store.clock.advance(24 * HOUR - 1)
    t.equal(await ask(store, ALARM), 'bounced')
    t.equal(await leftOut(store), 1)
    store.clock.advance(1)
    t.equal(await ask(store, ALARM), 'stored')
    t.equal(await leftOut(store), 0)
    await report(store, await send(store))
    t.equal(await ask(store, ALARM), 'bounced', 'what came back a day ago counts')
    store.clock.advance(49 * HOUR)
    await report(store, await send(store))
    t.equal(await ask(store, ALARM), 'stored', 'but not what did two days ago')
  })

  await t.test('a person allows an address again', async t => {
    const store = await fresh(t, create)
    const id = await send(store)
    await report(store, id)
    await report(store, await send(store))
    t.equal(await store.outbox.actions.allowAgain('0'.repeat(32)), false)
    t.equal(await store.outbox.actions.allowAgain(id), true)
    t.equal(await store.outbox.actions.allowAgain(id), false)
    t.equal(await ask(store, LINK), 'stored')
    t.equal(await report(store, id), 'stale', 'and a report that is read again changes nothing')
    t.equal(await ask(store, ALARM), 'stored')
  })

  await t.test('what is our fault refuses nothing', async t => {
    const store = await fresh(t, create)
    await report(store, await send(store), '5.7.1')
    await report(store, await send(store), 'complaint', { status: 'complained' })
    await report(store, await send(store), '5.0.0')
    t.equal(await ask(store, ALARM), 'stored')
    t.same((await store.outbox.queries.readSummary(0)).bounced, 2)
  })
}
