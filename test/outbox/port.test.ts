import t from 'tap'
import { type CallStore, type Takes, ValuesRefused } from '../../src/outbox/operations.ts'
import { createPort } from '../../src/outbox/port.ts'
import { lease, NOON, sample, testClock } from './samples.ts'

t.test('what the store refuses is left alone, and said in the log without its values', async t => {
  const clock = testClock()
  const given = ['1', '2', '3'].map(code => sample(clock, { code }))
  const [first, bad, third] = given.map(({ message }) => message.id)
  const call = async (name: string, { messages }: Takes<'accept'>) => {
    if (name !== 'accept' || messages.some(({ message }) => message.id === bad))
      throw new ValuesRefused('why')
    return messages.map(({ message: { id } }) => ({ is: 'in-progress', id }))
  }
  const log: unknown[] = []
  const port = createPort(call as unknown as CallStore, { clock, log: line => log.push(line) })
  t.same(await port.accept(given), [
    { is: 'in-progress', id: first },
    { is: 'refused' },
    { is: 'in-progress', id: third },
  ])
  t.same(await port.settle('its id', lease(clock), { to: 'queued', dueAt: NOON }), { state: 'lost' })
  const report = { channel: 'sms', status: 'sent', errorCode: null, at: NOON } as const
  t.same(await port.writeReceipt(report), { is: 'unknown' })
  t.same(log, [
    { doing: 'accept', message: `the message ${bad} was refused with all its values: why` },
    { doing: 'settle', message: 'the end of the message its id was refused: why' },
    { doing: 'write receipt', message: 'a delivery report was dropped whole: why' },
  ])
})
