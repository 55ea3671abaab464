import t from 'tap'
import { patient } from '../rigs/patience.ts'
import { createCallbacks } from './callbacks.ts'
import { openBurst, rowsOf, verdict } from './ending.ts'
import { backlogOf, pause } from './stage.ts'

t.test('SIGTERM while a mail waits for the reply to its dot: ambiguous on record, one copy more', async t => {
  const burst = await openBurst(t, { ANSWER_WITHIN_MS: '200', DRAIN_SECONDS: '0' })
  const { running, sinks, driver } = burst
  sinks.smtp.act = ({ step }) => (step === 'dot' ? { is: 'stall', accept: true } : undefined)
  const callbackOf = createCallbacks()
  await driver.load([callbackOf('email'), callbackOf('email')], 2)
  const told = Date.now()
  running.child.kill('SIGTERM')
  t.equal(await running.exited, 0)
  t.ok(Date.now() - told < patient(15_000), `it took ${Date.now() - told} ms`)
  t.match(rowsOf(sinks), [
    { state: 'queued', ambiguous: 1, timeline: [{ outcome: 'ambiguous', code: 'aborted' }] },
    { state: 'queued', ambiguous: 1 },
  ])
  sinks.smtp.act = undefined
  const next = await burst.again()
  while ((await backlogOf(next.adminUrl)) > 0) await pause(50)
  next.child.kill('SIGTERM')
  await next.exited
  const { breaches, ...found } = verdict(burst)
  t.same(breaches, [])
  t.match(found, { answered: 2, delivered: 2, duplicated: 2, lost: 0, states: { sent: 2 } })
})

t.test('a second signal ends at once, and nothing is lost', async t => {
  const burst = await openBurst(t, { ANSWER_WITHIN_MS: '200', DRAIN_SECONDS: '2' })
  const { running, sinks, driver } = burst
  sinks.smtp.act = ({ step }) => (step === 'dot' ? { is: 'stall' } : undefined)
  const callbackOf = createCallbacks()
  await driver.load([callbackOf('email')], 1)
  running.child.kill('SIGTERM')
  await pause(300)
  const told = Date.now()
  running.child.kill('SIGTERM')
  t.equal(await running.exited, 'SIGKILL', 'killed')
  t.ok(Date.now() - told < patient(2000))
  sinks.smtp.act = undefined
  const next = await burst.again()
  while ((await backlogOf(next.adminUrl)) > 0) await pause(50)
  next.child.kill('SIGTERM')
  await next.exited
  const { breaches, ...found } = verdict(burst)
  t.same(breaches, [])
  t.match(found, { answered: 1, delivered: 1, lost: 0 })
})
