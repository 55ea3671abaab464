import t from 'tap'
import { quote } from '../../src/language/sentence.ts'
import { ValuesRefused } from '../../src/outbox/operations.ts'
import { type Settlement, StoreUnavailable } from '../../src/outbox/outbox.ts'
import { createPort } from '../../src/outbox/port.ts'
import { NOON, sample } from './samples.ts'

const clock = { now: () => NOON }
const REPORT = {
  channel: 'sms',
  providerId: 'SM1',
  status: 'delivered',
  errorCode: null,
  at: NOON,
} as const
const SENT: Settlement = { to: 'final', state: 'sent', answer: null, providerId: 'SM1' }

t.test('what is refused is not written, ends no process, and the line never shows its content', async t => {
  const lines: string[] = []
  const call = async () => {
    throw new ValuesRefused('the database cannot hold it (22P05)')
  }
  const log = ({ doing, message }: { readonly doing: string; readonly message: string }) =>
    void lines.push(`${doing}: ${message}`)
  const port = createPort(call, { clock, log })
  const [one, other] = [sample(clock), sample(clock)]
  t.same(await port.settle('m1', { token: 't', until: 0 }, SENT), { state: 'lost' })
  t.same(await port.writeReceipt(REPORT), { is: 'unknown' })
  t.same(await port.accept([one, other]), [{ is: 'refused' }, { is: 'refused' }])
  t.same(lines, [
    'settle: the end of the message m1 was refused: the database cannot hold it (22P05)',
    'write receipt: a delivery report was dropped whole: the database cannot hold it (22P05)',
    ...[one, other].map(
      ({ message: { id } }) =>
        `accept: the message ${id} was refused with all its values: the database cannot hold it (22P05)`,
    ),
  ])
})

t.test('a store that cannot be reached is no refusal: the caller learns of it', async t => {
  const call = async () => {
    throw new StoreUnavailable(quote('the disk is full'))
  }
  const lines: unknown[] = []
  const port = createPort(call, { clock, log: line => void lines.push(line) })
  await t.rejects(port.writeReceipt(REPORT), StoreUnavailable)
  await t.rejects(port.settle('m1', { token: 't', until: 0 }, SENT), StoreUnavailable)
  await t.rejects(port.accept([sample(clock), sample(clock)]), StoreUnavailable)
  await t.rejects(port.claim('sms', 1, 1000), StoreUnavailable)
  t.equal(await port.queries.probeCommit(), false)
  t.same(lines, [], 'nothing was dropped')
  const bug = createPort(() => Promise.reject(new TypeError('a bug')), { clock })
  await t.rejects(bug.queries.probeCommit(), TypeError, 'which is not an answer')
})
