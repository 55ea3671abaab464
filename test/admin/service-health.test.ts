import t from 'tap'
import { createServiceHealth } from '../../src/admin/service-health.ts'
import type { EventOf } from '../../src/events/events.ts'
import { quote } from '../../src/language/sentence.ts'
import type { Outcome } from '../../src/providers/provider.ts'
import { callback as taken } from './every-event.ts'

const message = { id: 'a1', channel: 'sms', kind: 'login-code', masked: '' } as const

/** A record that hears of events, each a second after the one before. */
function createRecord() {
  let now = 0
  const health = createServiceHealth(() => now)
  const pass = () => {
    now += 1000
  }
  return {
    health,
    attempt(outcome: Outcome) {
      pass()
      const event = { message, provider: 'twilio', outcome, attempts: 1, tookMs: 1 }
      health.handlers.attempt?.({ type: 'attempt', ...event })
      return health.providers()[0]
    },
    callback(more: Partial<EventOf<'callback'>>) {
      pass()
      health.handlers.callback?.({ ...taken, channel: 'sms', ...more })
      return health.ofChannel('sms')
    },
  }
}

t.test('a provider is up or down since its state changed, and keeps its last error', async t => {
  const { attempt } = createRecord()
  const after = (outcome: Outcome) => {
    const { up, since, lastSentAt, lastError } = attempt(outcome) ?? {}
    return [up, since, lastSentAt, lastError?.at]
  }
  const sent = { is: 'sent', reply: '' } as const
  const failed = { is: 'retry', whose: 'later', code: 'ECONNREFUSED', reply: '', untouched: true } as const
  t.same(after(sent), [true, 1000, 1000, undefined])
  t.same(after(sent), [true, 1000, 2000, undefined])
  t.same(after(failed), [false, 3000, 2000, 3000])
  t.same(after(failed), [false, 3000, 2000, 4000])
  t.same(after(sent), [true, 5000, 5000, 4000])
  const expired = { ...failed, code: 'expired', reply: 'its validity is over' } as const
  t.same(after(expired), [true, 5000, 5000, 4000], 'a message whose life ended says nothing of it')
})

t.test(
  'what a provider refuses of one message is no error of its own; whose each error is, is kept',
  async t => {
    const { attempt } = createRecord()
    const errorAfter = (outcome: Outcome) => {
      const error = attempt(outcome)?.lastError
      return error && `${error.code} ${String(error.reply)} ${error.whose}`
    }
    t.equal(errorAfter({ is: 'rejected', scope: 'recipient', code: '21211', reply: quote('no') }), null)
    t.equal(errorAfter({ is: 'retry', whose: 'later', code: '450', reply: quote('wait') }), '450 wait later')
    t.equal(
      errorAfter({ is: 'rejected', scope: 'recipient', code: '21211', reply: quote('no') }),
      '450 wait later',
    )
    const ours = { is: 'retry', whose: 'ours', scope: 'account', code: '535', reply: quote('login') } as const
    t.equal(errorAfter(ours), '535 login ours')
    t.equal(errorAfter({ is: 'ambiguous', code: 'dropped', reply: quote('gone') }), 'dropped gone nobody')
  },
)

t.test('neither a stranger’s wrong key nor what check asks is a validation of the platform', async t => {
  const { health, callback } = createRecord()
  const validate = (refusal: 'key' | 'signature' | null, isCheck = false) => {
    const answer = { err_code: refusal === null ? 0 : 1, err_msg: refusal ?? 'ok' }
    return callback({ method: 'GET', answer, refusal, knowsKey: refusal !== 'key', isCheck }).validation
  }
  t.equal(validate('key'), null, 'a stranger, before the platform')
  t.match(validate(null), { at: 2000, ok: true })
  t.match(validate('key'), { at: 2000, ok: true }, 'a stranger')
  const refused = { at: 4000, ok: false, reason: { text: 'signature' } }
  t.match(validate('signature'), refused, 'who has the key is the platform')
  t.match(validate(null, true), refused, 'check hides it not')
  t.match(validate(null), { at: 6000, ok: true })
  t.match(validate('signature', true), { at: 6000, ok: true }, 'and brings none')
  const last = { at: 4000, reason: quote('signature', 'refused-signature') }
  t.same(health.ofChannel('sms').refusals, { count: 3, last })
  t.equal(health.ofChannel('email').validation, null)
})

t.test(
  'callers are counted by what they came with; the platform that is refused, until it is let in',
  async t => {
    const { health, callback } = createRecord()
    const post = (refusal: EventOf<'callback'>['refusal'], more: Partial<EventOf<'callback'>> = {}) =>
      callback({ refusal, knowsKey: refusal !== 'key' && refusal !== 'corp', ...more }).lockedOut
    t.equal(post('key'), null, 'a stranger')
    t.equal(post('corp', { knowsKey: true }), null, 'another enterprise’s')
    t.equal(post('source', { knowsKey: false }), null, 'a stranger from elsewhere')
    t.same(post('source'), { count: 1, since: 4000, why: 'source' })
    t.same(post('stale'), { count: 2, since: 4000, why: 'stale' })
    post('signature', { method: 'GET' })
    t.match(post('source'), { count: 3, since: 4000 }, 'a validation is no message')
    t.match(post('source', { isCheck: true }), { count: 3, since: 4000 }, 'nor does what check sends count')
    t.equal(post(null, { signature: 'wrong', outdated: true }), null)
    post(null, { method: 'GET', outdated: true })
    t.same(health.ofChannel('sms').signatures, { right: 0, stale: 0, wrong: 1, absent: 0 })
    t.equal(health.ofChannel('sms').outdatedAt, 10_000)
    t.same(post('signature'), { count: 1, since: 11_000, why: 'signature' }, 'anew')
  },
)

t.test('what quotas hold back is counted for each, in their order, and so is what is unreadable', async t => {
  let now = 0
  const health = createServiceHealth(() => (now += 1000))
  for (const quota of ['sms-minute', 'sms-day', 'sms-minute'])
    health.handlers['over-quota']?.({ type: 'over-quota', channel: 'sms', kind: 'k', quota, to: '+86****' })
  for (const to of ['a***', 'b***'])
    health.handlers['near-quota']?.({ type: 'near-quota', channel: 'sms', quota: 'sms-day', to })
  t.same(health.ofChannel('sms').heldBack, [
    { quota: 'sms-minute', to: '+86****', count: 2, lastAt: 3000 },
    { quota: 'sms-day', to: '+86****', count: 1, lastAt: 2000 },
  ])
  t.same(health.ofChannel('sms').nearing, [{ quota: 'sms-day', to: 'b***', count: 2, lastAt: 5000 }])
  t.match(health.ofChannel('email'), { heldBack: [], nearing: [] })
  for (const use of [2.5, 1.2]) health.handlers.newcomer?.({ type: 'newcomer', callingCode: '86', use })
  t.same([...health.ofChannel('sms').newcomers], [['86', 3]])
  t.equal(health.unreadable(), null)
  for (const id of ['a', 'b'])
    health.handlers.unreadable?.({ type: 'unreadable', id, channel: 'sms', kind: 'k' })
  t.same(health.unreadable(), { count: 2, lastAt: 7000 })
})

t.test('a failure of the store is over when a callback is stored, not when one is only let in', async t => {
  const { health, callback } = createRecord()
  health.handlers['store-failed']?.({ type: 'store-failed', doing: 'accept', error: new Error('full disk') })
  callback({ answer: { err_code: 1, err_msg: '' } })
  t.match(health.storeFailure(), { doing: 'accept', message: { text: 'full disk' } })
  callback({})
  for (const doing of ['alerts', 'webhooks'] as const)
    health.handlers['store-failed']?.({ type: 'store-failed', doing, error: new Error('slow') })
  t.equal(health.storeFailure(), null, 'callbacks are taken without these')
})
