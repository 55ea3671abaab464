import t from 'tap'
import { openStage, pause, QUICK, type Stage } from './stage.ts'

const say = (reply: string) => ({ is: 'say', reply }) as const

async function codesThatCame(stage: Stage): Promise<readonly string[]> {
  await stage.atRest()
  return stage.arrivals().map(each => each.code)
}

t.test('code A waits, B supersedes it, the platform says A again: only B comes', async t => {
  const commandMs = 60_000
  const limits = { ...QUICK, smtp: { ...QUICK.smtp, commandMs } }
  const stage = await openStage(t, { ANSWER_WITHIN_MS: '20000' }, { limits })
  const { driver } = stage
  const a = stage.callback('email', { person: 7 })
  const b = stage.callback('email', { person: 7 })
  stage.smtp.act = ({ step }) => (step === 'RCPT' ? say('450 4.2.0 later') : undefined)
  t.equal((await driver.post(a)).errCode, 0)
  t.equal((await driver.post(b)).errCode, 0)
  // Nobody who waits for the mail server is answered before its connections are cut.
  let answered = false
  let stalled = 0
  stage.smtp.act = ({ step }) => {
    if (step !== 'RCPT') return undefined
    stalled += 1
    return { is: 'stall' }
  }
  const waiting = driver.post(stage.callback('email')).then(() => {
    answered = true
  })
  while (stalled === 0) await pause(5)
  t.equal((await driver.post(a)).errCode, 0, 'said again, answered again')
  t.notOk(answered, 'at once: what became of it is known')
  stage.smtp.act = undefined
  for (const connection of stage.smtp.connections) connection.end()
  await waiting
  t.notOk((await codesThatCame(stage)).includes(a.code))
  t.ok((await codesThatCame(stage)).includes(b.code))
  const found = await stage.finish()
  t.match(found.states, { superseded: 1, sent: 2 })
})

t.test('the same body many times at once: one message, the same answer for all', async t => {
  const stage = await openStage(t, { ANSWER_WITHIN_MS: '3000' }, { limits: QUICK })
  stage.smtp.act = ({ step }) => (step === 'dot' ? { is: 'wait', ms: 200 } : undefined)
  const code = stage.callback('email')
  const answers = await stage.driver.load(
    Array.from({ length: 20 }, () => code),
    20,
  )
  t.ok(answers.every(each => each.errCode === 0))
  t.same(await codesThatCame(stage), [code.code])
  const { rows } = await stage.finish()
  t.equal(rows.length, 1)
})
