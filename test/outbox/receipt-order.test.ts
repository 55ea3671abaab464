import t from 'tap'
import { isLaterReceipt } from '../../src/outbox/receipt-order.ts'

t.test('receipts: each status counts only after earlier ones', async t => {
  t.equal(isLaterReceipt(null, 'queued'), true)
  for (const failed of ['undelivered', 'failed']) {
    t.equal(isLaterReceipt(failed, 'delivered'), false, 'nobody knows which came about first')
    t.equal(isLaterReceipt(failed, 'delivered', true), true, 'it arrived after all')
  }
  t.equal(isLaterReceipt('delivered', 'undelivered', true), false)
  t.equal(isLaterReceipt('read', 'delivered', true), false)
  t.equal(isLaterReceipt('sent', 'a-new-status'), false)
  t.equal(isLaterReceipt('a-new-status', 'queued'), true)
  const order = [
    ['accepted', 'scheduled'],
    ['queued'],
    ['sending'],
    ['sent'],
    ['delivered', 'undelivered', 'failed', 'canceled', 'partially_delivered'],
    ['read', 'complained'],
  ]
  for (const [at, known] of order.entries())
    for (const [to, next] of order.entries())
      for (const one of known)
        for (const other of next) t.equal(isLaterReceipt(one, other), to > at, `${one}, then ${other}`)
})
