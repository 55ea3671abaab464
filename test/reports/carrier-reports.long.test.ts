import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { createCarrierReports } from '../../src/reports/carrier-reports.ts'

t.test('what is kept of messages does not grow with those that were reported', t => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  let now = 0
  const reports = createCarrierReports({
    clock: { now: () => now },
    random: () => 0.5,
    judged: new Set(['a']),
    countryOf: () => 'CN',
    onChange: () => {},
  })
  let count = 0
  function measureHeap(): number {
    collectGarbage()
    return process.memoryUsage().heapUsed
  }
  /** Sends so many, which are reported a second later. */
  function send(many: number): void {
    for (const end = count + many; count < end; count += 1) {
      const id = `${count}`.padStart(32, '0')
      const providerId = `SM${id}`
      const recipient = `+86138${id.slice(-8)}`
      const expiresAt = now + 600_000
      const sent = { is: 'sent', reply: '', providerId } as const
      reports.noteEnd({ id, recipient, purpose: 'code', expiresAt }, 'a', sent, false)
      now += 1000
      reports.noteReport({
        type: 'receipt',
        channel: 'sms',
        provider: 'a',
        id,
        providerId,
        status: 'delivered',
        errorCode: null,
        result: 'recorded',
      })
    }
  }
  // The most numbers that are remembered are known by then.
  send(30_000)
  const before = measureHeap()
  send(100_000)
  const after = measureHeap()
  // The twin is what somebody would keep by mistake: one short word of each message.
  const twin = new Set(Array.from({ length: 100_000 }, (_, n) => `SM${n}`.padStart(34, '0')))
  const words = measureHeap() - after
  t.ok(after - before < words / 4, `${twin.size} more: ${after - before} octets, their ids alone ${words}`)
  t.end()
})
