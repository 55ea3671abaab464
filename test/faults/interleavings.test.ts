import t, { type Test } from 'tap'
import { openStage, pause, QUICK, type Stage } from './stage.ts'

const say = (reply: string) => ({ is: 'say', reply }) as const

/** Nothing that the service waits for is as short as this. */
const AT_ONCE_MS = 150

/** A stage whose clock the test moves. */
async function openAt(t: Test, settings: Readonly<Record<string, string>> = {}) {
  let offset = 0
  const stage = await openStage(
    t,
    { ANSWER_WITHIN_MS: '200', ...settings },
    { limits: QUICK, clock: { now: () => Date.now() + offset } },
  )
  return {
    ...stage,
    advance: (ms: number) => {
      offset += ms
    },
  }
}

async function codesThatCame(stage: Stage): Promise<readonly string[]> {
  await stage.atRest()
  return stage.arrivals().map(each => each.code)
}

t.test('code A waits, B supersedes it, the platform says A again: only B comes', async t => {
  const stage = await openAt(t, { ANSWER_WITHIN_MS: '5000' })
  const { driver } = stage
  const a = stage.callback('email', { person: 7 })
  const b = stage.callback('email', { person: 7 })
  stage.smtp.act = ({ step }) => (step === 'RCPT' ? say('450 4.2.0 later') : undefined)
  t.equal((await driver.post(a)).errCode, 0)
  t.equal((await driver.post(b)).errCode, 0)
  // The fastest of some: whoever waits for anything waits each time, and a busy machine holds up only some.
  let fastest = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < 20 && fastest >= AT_ONCE_MS; tries += 1) {
    const again = await driver.post(a)
    t.equal(again.errCode, 0, 'said again, answered again')
    fastest = Math.min(fastest, again.answeredAt - again.askedAt)
  }
  t.ok(fastest < AT_ONCE_MS, `at once: what became of it is known; ${Math.round(fastest)} ms`)
  stage.smtp.act = undefined
  t.same(await codesThatCame(stage), [b.code])
  const { breaches, ...found } = await stage.finish()
  t.same(breaches, [])
  t.match(found.states, { superseded: 1, sent: 1 })
})

t.test('A is being sent and stalls, B is sent, A comes back for retry: only B comes', async t => {
  const stage = await openAt(t)
  const a = stage.callback('email', { person: 7 })
  const b = stage.callback('email', { person: 7 })
  let first = true
  stage.smtp.act = ({ step }) => {
    if (step !== 'RCPT' || !first) return undefined
    first = false
    return { is: 'stall' }
  }
  const waits = stage.driver.post(a)
  while (first) await pause(5)
  t.equal((await stage.driver.post(b)).errCode, 0)
  t.equal((await waits).errCode, 0)
  t.same(await codesThatCame(stage), [b.code])
  const { breaches, rows } = await stage.finish()
  t.same(breaches, [])
  t.match(rows, [{ state: 'superseded', attempts: 1, timeline: [{ outcome: 'retry' }] }, { state: 'sent' }])
})

t.test('two plugin_ids, same recipient and kind: both come', async t => {
  const stage = await openAt(t)
  const codes = ['1', '2'].map(pluginId => stage.callback('sms', { person: 7, pluginId }))
  stage.twilio.fault = () => ({
    is: 'answer',
    status: 429,
    body: '{"code":20429,"status":429,"message":"x"}',
  })
  await stage.driver.load(codes, 2)
  stage.twilio.fault = undefined
  t.same(
    (await codesThatCame(stage)).toSorted(),
    codes.map(each => each.code),
  )
  const { breaches } = await stage.finish()
  t.same(breaches, [])
})

t.test('the same code asked for again: within 45 s the same answer, after 46 s sent again', async t => {
  const stage = await openAt(t)
  const code = stage.callback('email')
  await stage.driver.post(code)
  await stage.atRest()
  stage.advance(44_000)
  t.equal((await stage.driver.post(code)).errCode, 0)
  t.same(await codesThatCame(stage), [code.code], 'once')
  stage.advance(2_000)
  t.equal((await stage.driver.post(code)).errCode, 0)
  t.same(await codesThatCame(stage), [code.code, code.code], 'somebody pressed "resend"')
  const ids = new Set(stage.arrivals().map(each => each.id))
  t.equal(ids.size, 2, 'another message')
})

t.test('a refusal is repeated within 45 s, and tried again after them', async t => {
  const stage = await openAt(t, { ANSWER_WITHIN_MS: '3000' })
  const code = stage.callback('email')
  let asked = 0
  stage.smtp.act = ({ step }) => {
    if (step !== 'RCPT') return undefined
    asked += 1
    return say('550 5.1.1 no such user')
  }
  t.equal((await stage.driver.post(code)).errCode, 4002012)
  await stage.atRest()
  t.equal((await stage.driver.post(code)).errCode, 4002012)
  t.equal(asked, 1)
  stage.smtp.act = undefined
  stage.advance(46_000)
  t.equal((await stage.driver.post(code)).errCode, 0)
  t.same(await codesThatCame(stage), [code.code])
})

t.test('the same body many times at once: one message, the same answer for all', async t => {
  const stage = await openAt(t, { ANSWER_WITHIN_MS: '3000' })
  stage.smtp.act = ({ step }) => (step === 'dot' ? { is: 'wait', ms: 200 } : undefined)
  const code = stage.callback('email')
  const answers = await stage.driver.load(
    Array.from({ length: 20 }, () => code),
    20,
  )
  t.ok(answers.every(each => each.errCode === 0))
  t.same(await codesThatCame(stage), [code.code])
  const { breaches, rows } = await stage.finish()
  t.same(breaches, [])
  t.equal(rows.length, 1)
})

t.test('ten codes for one person in a row while nothing can be sent: only the last comes', async t => {
  const stage = await openAt(t)
  const { port } = new URL(stage.settings['SMTP_URL'] ?? '')
  await stage.smtp.close()
  const codes = stage.callbacks('email', 10, { person: 7 })
  for (const code of codes) t.equal((await stage.driver.post(code)).errCode, 0)
  await stage.smtp.listen(Number(port))
  t.same(await codesThatCame(stage), [codes.at(-1)?.code])
  const { breaches, ...found } = await stage.finish()
  t.same(breaches, [])
  t.match(found.states, { superseded: 9, sent: 1 })
})
