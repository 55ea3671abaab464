import t from 'tap'
import { createCallbacks } from './callbacks.ts'
import { openBurst, rowsOf } from './ending.ts'
import { pause } from './stage.ts'

t.test('SIGTERM while a mail waits for the reply to its dot: ambiguous on record, one copy more', async t => {
  const burst = await openBurst(t, { ANSWER_WITHIN_MS: '200', DRAIN_SECONDS: '0' })
  const { running, sinks, driver } = burst
  sinks.smtp.act = ({ step }) => (step === 'dot' ? { is: 'stall', accept: true } : undefined)
  const callbackOf = createCallbacks()
  await driver.load([callbackOf('email'), callbackOf('email')], 2)
  running.child.kill('SIGTERM')
  t.equal(await running.exited, 0)
  t.match(rowsOf(sinks), [
    { state: 'queued', ambiguous: 1, timeline: [{ outcome: 'ambiguous', code: 'aborted' }] },
    { state: 'queued', ambiguous: 1 },
  ])
  const found = await burst.finish()
  t.match(found, { answered: 2, delivered: 2, duplicated: 2, lost: 0, states: { sent: 2 } })
})

t.test('SIGTERM in a burst: what was answered 0 is sent or given back, nothing is ambiguous', async t => {
  const burst = await openBurst(t, { ANSWER_WITHIN_MS: '1000', DRAIN_SECONDS: '1' })
  const { running, sinks, driver } = burst
  // Slow enough that there is always something on its way and something waiting.
  sinks.smtp.act = ({ step }) => (step === 'dot' ? { is: 'wait', ms: 30 } : undefined)
  const load = burst.callers(30)
  while (driver.record.length < 60) await pause(10)
  const told = Date.now()
  running.child.kill('SIGTERM')
  const code = await running.exited
  await load.stop()
  t.equal(code, 0)
  const refused = driver.record.filter(each => each.status !== undefined && each.errCode !== 0)
  t.same(refused, [], 'no callback is refused')
  const served = driver.record.filter(each => each.errCode === 0 && each.askedAt > told)
  t.ok(served.length > 0, 'it serves on for a while')
  const rows = rowsOf(sinks)
  t.notOk(
    rows.some(row => row.state === 'sending'),
    'nothing is left as being sent',
  )
  t.notOk(rows.some(row => row.ambiguous > 0))

  const found = await burst.finish()
  t.match(found, { lost: 0, duplicated: 0, ambiguous: 0, delivered: found.answered })
})
