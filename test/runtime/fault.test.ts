import t from 'tap'
import { presentableFault } from '../../src/runtime/fault.ts'

t.test('an error is its class, its code and where it happened, never what it says', async t => {
  class QuotaFault extends Error {
    override readonly name = 'QuotaFault'
    readonly code = 'EQUOTA'
  }
  const fault = presentableFault(new QuotaFault('canary 482913', { cause: new Error('canary') }))
  t.match(fault, { type: 'QuotaFault', code: 'EQUOTA' })
  t.match(fault.stack, /fault\.test\.ts:\d+:\d+/)
  t.notMatch(JSON.stringify(fault), 'canary')
})

t.test('a message that looks like frames is a message all the same', async t => {
  const error = new TypeError(
    'x\n    at canary (file:///canary.ts:1:1)\n    at file:///canary.ts:2:2\n    at canary',
  )
  t.match(presentableFault(error), { type: 'TypeError' })
  t.notMatch(JSON.stringify(presentableFault(error)), 'canary')
  error.message = 'changed later'
  const later = presentableFault(error).stack ?? ''
  t.notMatch(later, /at canary$/m)
  t.notMatch(
    JSON.stringify(presentableFault(Object.assign(new Error('x'), { code: 550, stack: undefined }))),
    '550',
  )
})

t.test('what is not an error is only its type', async t => {
  t.same(presentableFault('canary'), { type: 'string' })
  t.same(presentableFault(null), { type: 'object' })
  t.same(presentableFault(undefined), { type: 'undefined' })
})
