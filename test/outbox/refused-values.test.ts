import t from 'tap'
import { ValuesRefused } from '../../src/outbox/operations.ts'
import { type Settlement, StoreUnavailable } from '../../src/outbox/outbox.ts'
import { createPort } from '../../src/outbox/port.ts'
import { NOON, sample } from './samples.ts'

const clock = { now: () => NOON }
const SENT: Settlement = { to: 'final', state: 'sent', answer: null, providerId: 'SM1' }

t.test(
  'an end that is refused is not written, ends no process, and the line never shows its content',
  async t => {
    const lines: string[] = []
    const call = async () => {
      throw new ValuesRefused('the database cannot hold it (22P05)')
    }
    const log = ({ doing, message }: { readonly doing: string; readonly message: string }) =>
      void lines.push(`${doing}: ${message}`)
    const settled = await createPort(call, { clock, log }).settle('m1', { token: 't', until: 0 }, SENT)
    t.same(settled, { state: 'lost' })
    t.same(lines, ['settle: the end of the message m1 was refused: the database cannot hold it (22P05)'])
  },
)

t.test('a store that cannot be reached is no refusal: the caller learns of it', async t => {
  const call = async () => {
    throw new StoreUnavailable('the disk is full')
  }
  const lines: unknown[] = []
  const port = createPort(call, { clock, log: line => void lines.push(line) })
  const report = {
    channel: 'sms',
    providerId: 'SM1',
    status: 'delivered',
    errorCode: null,
    at: NOON,
  } as const
  await t.rejects(port.writeReceipt(report), StoreUnavailable)
  await t.rejects(port.settle('m1', { token: 't', until: 0 }, SENT), StoreUnavailable)
  await t.rejects(port.accept([sample(clock), sample(clock)]), StoreUnavailable)
  await t.rejects(port.claim('sms', 1, 1000), StoreUnavailable)
  t.equal(await port.queries.probeCommit(), false)
  t.same(lines, [], 'nothing was dropped')
})
