import t from 'tap'
import {
  createReceiptRecorder,
  type ReceiptRecorderOptions,
  type ReceiptResult,
} from '../../src/callback/receipt-recorder.ts'
import { createEmitter } from '../../src/events/events.ts'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'
import { until } from '../rigs/service.ts'

const RECEIPT = { providerId: 'SM1', status: 'delivered', errorCode: null }

/** A recorder over a store that answers what it is told, look by look; the last answer goes on. */
function open(answers: readonly (ReceiptResult | Error)[], more: Partial<ReceiptRecorderOptions> = {}) {
  const heard: string[] = []
  const faults: string[] = []
  const times: number[] = []
  let now = 1000
  const recorder = createReceiptRecorder({
    outbox: {
      async writeReceipt(_channel, _providerId, _status, _errorCode, at) {
        const answer = answers[Math.min(times.length, answers.length - 1)] ?? 'unknown'
        times.push(at)
        if (answer instanceof Error) throw answer
        return answer
      },
    },
    now: () => (now += 1),
    emit: createEmitter([
      {
        receipt: ({ providerId, result }) => void heard.push(`${providerId} ${result}`),
        fault: ({ error }) => void faults.push(error.message),
      },
    ]),
    pauses: [5, 5, 5, 5],
    ...more,
  })
  return { recorder, heard, faults, times }
}

t.test('a report that is here before its message is looked for until it is there', async t => {
  const down = new StoreUnavailable('disk full')
  const { recorder, heard, times } = open(['unknown', 'unknown', down, 'unknown', 'recorded'])
  await recorder.record(RECEIPT)
  t.same(heard, [], 'it is not waited for')
  await until(() => heard.length > 0, 'the report')
  t.same(heard, ['SM1 recorded'])
  t.same(times, [1001, 1001, 1001, 1001, 1001], 'with the time at which it came')
})

t.test('one that is of nobody is unknown after some looks, and said once', async t => {
  const { recorder, heard, times } = open(['unknown'])
  await recorder.record(RECEIPT)
  await until(() => heard.length > 0, 'the report')
  t.same(heard, ['SM1 unknown'])
  t.equal(times.length, 5)
})

t.test(
  'what is known at once is said at once; a store that fails then is heard of by the caller',
  async t => {
    for (const result of ['recorded', 'stale'] as const) {
      const { recorder, heard } = open([result])
      await recorder.record(RECEIPT)
      t.same(heard, [`SM1 ${result}`])
    }
    const { recorder, heard } = open([new StoreUnavailable('disk full')])
    await t.rejects(recorder.record(RECEIPT), StoreUnavailable)
    t.same(heard, [])
  },
)

t.test('a bug while looking again is told, and ends the process not', async t => {
  const { recorder, heard, faults } = open(['unknown', new TypeError('a bug'), 'recorded'])
  await recorder.record(RECEIPT)
  await until(() => heard.length > 0, 'the report')
  t.same([...faults, ...heard], ['a bug', 'SM1 recorded'])
})

t.test('only so many are remembered, and none after the end', async t => {
  const { recorder, heard, times } = open(['unknown'], { pauses: [60_000], most: 2 })
  for (const providerId of ['SM1', 'SM2', 'SM3']) await recorder.record({ ...RECEIPT, providerId })
  t.same(heard, ['SM3 unknown'])
  recorder.close()
  t.same(heard, ['SM3 unknown', 'SM1 unknown', 'SM2 unknown'])
  await recorder.record(RECEIPT)
  t.equal(heard.length, 4)
  t.equal(times.length, 4)
})

t.test('it is looked for during half a minute', async t => {
  const waits: number[] = []
  const real = globalThis.setTimeout
  t.intercept(globalThis, 'setTimeout', {
    value: (act: () => void, ms: number) => {
      waits.push(ms)
      return real(act, 0)
    },
  })
  const heard: string[] = []
  const recorder = createReceiptRecorder({
    outbox: { writeReceipt: async () => 'unknown' },
    now: () => 0,
    emit: createEmitter([{ receipt: ({ result }) => void heard.push(result) }]),
  })
  await recorder.record(RECEIPT)
  while (heard.length === 0) await new Promise(resolve => setImmediate(resolve))
  t.ok((waits[0] ?? 0) <= 1000, 'soon at first')
  t.equal(
    waits.reduce((sum, ms) => sum + ms, 0),
    30_000,
  )
})
