import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { createCarrierReports } from '../../src/delivery/carrier-reports.ts'

t.test('what is kept of messages does not grow with those that were reported', t => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  let now = 0
  const reports = createCarrierReports({
    clock: { now: () => now },
    random: () => 0.5,
    domainOf: masked => masked,
    judged: new Set(['a']),
    onChange: () => {},
    onFault: () => {},
  })
  let count = 0
  /** Sends so many, which are reported a second later. @returns what the heap holds then, octets. */
  function send(many: number): number {
    for (const end = count + many; count < end; count += 1) {
      const id = `${count}`.padStart(32, '0')
      const providerId = `SM${id}`
      const recipient = `+86138${id.slice(-8)}`
      const expiresAt = now + 600_000
      reports.noteSent({ id, recipient, masked: recipient, purpose: 'code', expiresAt }, 'a', providerId)
      now += 1000
      reports.handlers.receipt?.({
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
    collectGarbage()
    return process.memoryUsage().heapUsed
  }
  const before = send(30_000)
  const grown = send(200_000) - before
  t.ok(grown < 10_000_000, `200,000 more: ${grown} octets`)
  t.end()
})
