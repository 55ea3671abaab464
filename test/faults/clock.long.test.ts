import t from 'tap'
import { openStage, pause, QUICK } from './stage.ts'

const HOUR = 3_600_000

for (const [way, jump] of [
  ['forward', HOUR],
  ['back', -HOUR],
] as const) {
  t.test(`the clock jumps an hour ${way} while messages wait: all are sent, none late`, async t => {
    let offset = 0
    const stage = await openStage(
      t,
      { ANSWER_WITHIN_MS: '200' },
      { limits: QUICK, wall: () => Date.now() + offset },
    )
    stage.smtp.act = ({ step }) => (step === 'RCPT' ? { is: 'say', reply: '450 4.2.0 later' } : undefined)
    await stage.driver.load(stage.callbacks('email', 20), 10)
    offset = jump
    stage.smtp.act = undefined
    await stage.driver.load(stage.callbacks('email', 10), 10)
    await stage.atRest()
    const found = await stage.finish()
    t.match(found, { answered: 30, delivered: 30, lost: 0, duplicated: 0 })
  })
}

t.test('set forward an hour between two runs: codes of ten minutes expire without an attempt', async t => {
  const stage = await openStage(t, { ANSWER_WITHIN_MS: '200' })
  stage.smtp.act = ({ step }) => (step === 'RCPT' ? { is: 'say', reply: '450 4.2.0 later' } : undefined)
  await stage.driver.load(stage.callbacks('email', 10), 10)
  await stage.service().close()
  stage.smtp.act = undefined
  const before = stage.smtp.connections.length
  await stage.restart({}, { limits: QUICK, wall: () => Date.now() + HOUR })
  await stage.atRest()
  const found = await stage.finish()
  t.match(found, { answered: 10, delivered: 0, lost: 0, states: { expired: 10 } })
  t.equal(stage.smtp.connections.length, before)
})

t.test('set back an hour between two runs: what waited is sent at once, not an hour later', async t => {
  const stage = await openStage(t, { ANSWER_WITHIN_MS: '200' })
  stage.smtp.act = ({ step }) => (step === 'RCPT' ? { is: 'say', reply: '450 4.2.0 later' } : undefined)
  await stage.driver.load(stage.callbacks('email', 10), 10)
  await pause(200)
  stage.smtp.act = undefined
  await stage.restart({}, { limits: QUICK, wall: () => Date.now() - HOUR })
  await stage.atRest()
  await stage.service().close()
  t.equal(stage.smtp.mails.length, 10)
  t.equal(new Set(stage.arrivals().map(each => each.code)).size, 10)
})
