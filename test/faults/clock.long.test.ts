import t from 'tap'
import { openStage, QUICK } from './stage.ts'

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
