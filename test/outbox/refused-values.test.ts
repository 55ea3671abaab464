import t from 'tap'
import { createFront } from '../../src/outbox/front.ts'
import { type CallStore, type Takes, ValuesRefused } from '../../src/outbox/operations.ts'
import { type Settlement, StoreUnavailable } from '../../src/outbox/outbox.ts'
import { NOON, record, sample } from './samples.ts'

const clock = { now: () => NOON }
const SENT: Settlement = {
  to: 'final',
  state: 'sent',
  answer: null,
  providerId: 'SM1',
  records: [record(clock, 'sent', 'a secret reply')],
}

/** Settles with a store that refuses so many tries. */
async function settleRefused(refusals: number) {
  const lines: string[] = []
  const tries: Settlement[] = []
  const call = async (_name: string, { settlement }: Takes<'settle'>) => {
    tries.push(settlement)
    if (tries.length <= refusals) throw new ValuesRefused('the database cannot hold it (22P05)')
    return { state: 'sent', answer: null }
  }
  const log = ({ doing, message }: { readonly doing: string; readonly message: string }) =>
    void lines.push(`${doing}: ${message}`)
  const settled = await createFront(call as CallStore, { clock, log }).settle(
    'm1',
    { token: 't', until: 0 },
    SENT,
  )
  return { lines, tries, settled }
}

t.test('nothing is said when nothing is refused', async t => {
  t.same(await settleRefused(0), { lines: [], tries: [SENT], settled: { state: 'sent', answer: null } })
})

t.test('one line names what was dropped, and never its content', async t => {
  const { lines, tries, settled } = await settleRefused(1)
  t.same(lines, [
    'settle: the message m1 was settled without its lines for the timeline: the database cannot hold it (22P05)',
  ])
  t.equal(tries[1]?.records, undefined)
  t.match(tries[1], { providerId: 'SM1' })
  t.equal(settled.state, 'sent')
  const twice = await settleRefused(2)
  t.match(twice.lines, [/without its lines for the timeline and the provider's id/])
  t.equal((twice.tries[2] as { providerId?: string }).providerId, undefined)
  t.equal(twice.settled.state, 'sent')
})

t.test('an end that is refused altogether is not written, and ends no process', async t => {
  const { lines, settled } = await settleRefused(3)
  t.match(lines, [/refused altogether/])
  t.same(settled, { state: 'lost' })
})

t.test('a store that cannot be reached is no refusal: the caller learns of it', async t => {
  const call = async () => {
    throw new StoreUnavailable('the disk is full')
  }
  const lines: unknown[] = []
  const front = createFront(call, { clock, log: line => void lines.push(line) })
  const report = {
    channel: 'sms',
    providerId: 'SM1',
    status: 'delivered',
    errorCode: null,
    at: NOON,
  } as const
  await t.rejects(front.writeReceipt(report), StoreUnavailable)
  await t.rejects(front.settle('m1', { token: 't', until: 0 }, SENT), StoreUnavailable)
  await t.rejects(front.accept([sample(clock), sample(clock)]), StoreUnavailable)
  await t.rejects(front.claim('sms', 1, 1000), StoreUnavailable)
  t.equal(await front.queries.probeCommit(), false)
  t.same(lines, [], 'nothing was dropped')
})
