import t from 'tap'
import {
  acceptMessages,
  duplicateKey,
  type KnownMessages,
  keepReport,
  settleMessage,
} from '../../src/outbox/decide.ts'
import type { Row } from '../../src/outbox/message-row.ts'
import { type Acceptance, BacklogFull, type SettledByStore } from '../../src/outbox/outbox.ts'
import { createQuotaLedger } from '../../src/outbox/quota.ts'
import {
  beginWork,
  createCountChanges,
  storeMessage,
  type UnitOfWork,
} from '../../src/outbox/unit-of-work.ts'
import { kinds } from './contract/store.ts'
import { lease, NOON, sample, testClock } from './samples.ts'

const clock = testClock()
const SENT = { to: 'final', state: 'sent', answer: null } as const

function begin(now = NOON): UnitOfWork & { readonly ended: SettledByStore[] } {
  const counters = { counts: createCountChanges(), quotas: createQuotaLedger(() => undefined) }
  return beginWork(now, { keepsEvents: true, ended: [], ...counters })
}

/** A message that an earlier transaction has stored, as claimed. */
function storedBefore(
  given: Acceptance = sample(clock, { lease: lease(clock) }),
  more: Partial<Row> = {},
): Row {
  return Object.assign(storeMessage(begin(), given, []), more)
}

function knownOf(more: Partial<KnownMessages> = {}): KnownMessages {
  const none = { duplicates: new Map(), groups: new Map(), reached: new Set<string>() }
  return { ...none, mayEnd: () => true, backlog: 0, again: false, ...more }
}

function duplicateOf(row: Row, given: Acceptance): Pick<KnownMessages, 'duplicates'> {
  return { duplicates: new Map([[duplicateKey(given.recipientHash, given.dedupeKey), row]]) }
}

t.test('an end that is asked for again is what was written, unless another call has written it', async t => {
  const row = storedBefore()
  const work = begin()
  t.same(settleMessage(work, row, SENT), { state: 'sent', answer: null })
  t.same(settleMessage(work, row, SENT, true), { state: 'lost' }, 'by another call of the same transaction')
  t.same(settleMessage(begin(), row, SENT, true), { state: 'sent', answer: null }, 'by an earlier try')
  t.same(settleMessage(begin(), row, SENT), { state: 'lost' }, 'by somebody else')
})

t.test('a report that is told again was kept, unless another one was', async t => {
  const row = storedBefore()
  const report = { channel: 'email', status: 'delivered', errorCode: null, at: NOON } as const
  const keep = (work: UnitOfWork, status: string, isRepeated: boolean) =>
    keepReport(work, row, { ...report, status }, new Map(), isRepeated).is
  const work = begin()
  t.equal(keep(work, 'delivered', true), 'recorded')
  t.equal(keep(work, 'delivered', true), 'stale', 'another report of the same transaction')
  t.equal(keep(begin(), 'delivered', true), 'recorded', 'an earlier try has kept it')
  t.equal(keep(begin(), 'delivered', false), 'stale')
  t.equal(keep(begin(), 'sent', true), 'stale', 'a later one was kept')
})

t.test('a call that is tried again has stored its own messages, and finds those of others', async t => {
  const given = sample(clock)
  const own = knownOf({ ...duplicateOf(storedBefore(given), given), again: true })
  t.same(acceptMessages(begin(), own, [given], 9), [{ is: 'stored', superseded: [] }])
  t.same(acceptMessages(begin(), own, [{ ...given, held: true }], 9), [{ is: 'held' }])
  const other = storedBefore(sample(clock))
  const inProgress = [{ is: 'in-progress', id: other.id }]
  for (const again of [true, false])
    t.same(acceptMessages(begin(), knownOf({ ...duplicateOf(other, given), again }), [given], 9), inProgress)
})

t.test('a duplicate whose life is over is left to whoever has its lock', async t => {
  const given = sample(clock)
  const row = storedBefore(sample(clock, { lifeMs: 1000 }))
  const work = begin(NOON + 1000)
  const known = knownOf({ ...duplicateOf(row, given), mayEnd: () => false })
  t.same(acceptMessages(work, known, [given], 9), [{ is: 'in-progress', id: row.id }])
  t.equal(row.state, 'queued')
  t.same(kinds(acceptMessages(work, { ...known, mayEnd: () => true }, [given], 9) as never), ['stored'])
  t.match(work.ended, [{ id: row.id, state: 'expired' }])
})

t.test('calls that share a transaction share what room there is', async t => {
  const work = begin()
  const [known, to] = [knownOf({ backlog: 1 }), (recipient: string) => [sample(clock, { recipient })]]
  t.match(acceptMessages(work, known, to('a@example.com'), 2), [{ is: 'stored' }])
  t.ok(acceptMessages(work, known, to('b@example.com'), 2) instanceof BacklogFull)
  t.match(acceptMessages(work, known, to('a@example.com'), 2), [{ is: 'in-progress' }])
})

t.test(
  'of mails that came back the first within two days is noted, and the latest two; of SMS none',
  async t => {
    const fault = { verdict: 'recipient', scope: 'recipient', reason: null } as const
    const report = { status: 'undelivered', errorCode: null, fault } as const
    const notes = new Map<string, string>()
    const noted = [0, 23, 46, 48, 49].map(hours => {
      keepReport(begin(), storedBefore(), { ...report, channel: 'email', at: hours * 3_600_000 }, notes)
      return [...notes.values()].join()
    })
    t.same(noted.slice(3), ['[0,165600000,172800000]', '[165600000,172800000,176400000]'])
    const work = begin()
    keepReport(work, storedBefore(sample(clock, { channel: 'sms' })), { ...report, channel: 'sms', at: NOON })
    t.same([work.memos, work.counts.changes()], [[], []])
  },
)
