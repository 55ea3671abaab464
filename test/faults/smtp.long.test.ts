import t, { type Test } from 'tap'
import { until } from '../rigs/service.ts'
import { createSmtpServer, type SmtpAct, type SmtpMoment } from '../rigs/smtp-server.ts'
import { loadUnder, openStage, pause, QUICK, type Stage } from './stage.ts'

t.jobs = 4

const say = (reply: string, close = false): SmtpAct => ({ is: 'say', reply, close })

type Fault = (moment: SmtpMoment) => SmtpAct | undefined

/** Runs a load of mails while the server does something else at some of its steps, then lets it behave. */
async function under(t: Test, count: number, limits: typeof QUICK, fault: Fault): Promise<Stage> {
  const stage = await openStage(t, { ANSWER_WITHIN_MS: '300', SMTP_CONNECTIONS: '5' }, { limits })
  await loadUnder(stage, stage.callbacks('email', count), fault, given => {
    stage.smtp.act = given
  })
  return stage
}

for (const is of ['stall', 'drop'] as const)
  for (const accept of [true, false])
    t.test(
      `a ${is} after the dot ${accept ? 'after' : 'without'} taking it: copies only of what nobody could know, with the same Message-ID`,
      async t => {
        const fault = ({ step }: SmtpMoment) => (step === 'dot' ? { is, accept } : undefined)
        const stage = await under(t, 20, QUICK, fault)
        const found = await stage.finish()
        t.match(found, { answered: 20, lost: 0 })
        t.ok(found.ambiguous > 0, 'the attempts are on record as ambiguous')
        if (accept) t.ok(found.duplicated > 0, 'nobody could know')
        else t.equal(found.duplicated, 0)
        t.equal(found.delivered, 20 - found.unknownNotArrived)
      },
    )

t.test('closed in the middle of a load: everything arrives when it is back', async t => {
  const stage = await openStage(t, { ANSWER_WITHIN_MS: '300' })
  const { port } = new URL(stage.settings['SMTP_URL'] ?? '')
  const answers = stage.driver.load(stage.callbacks('email', 300), 10)
  await pause(50)
  await stage.smtp.close()
  await pause(2500)
  // A busy machine may have tried too few of them by now for anything to be left alone.
  const isLeftAlone = () => stage.log.some(line => line.includes('"breaker"'))
  await until(isLeftAlone, 'the server is left alone')
  await stage.smtp.listen(Number(port))
  await answers
  await stage.atRest()
  // A mail whose dot had been sent when its connection was cut is ambiguous, and may have come twice.
  const found = await stage.finish()
  const count = stage.driver.record.length
  t.match(found, { answered: count, delivered: count, lost: 0 })
  t.ok(found.ambiguous <= 10, 'no more than there were connections')
})

t.test(
  'a fallback takes over when the server refuses or is gone, and what nobody knows of as a copy',
  async t => {
    const fallback = createSmtpServer()
    const { port } = await fallback.listen()
    t.teardown(() => fallback.close())
    const stage = await openStage(t, {
      ANSWER_WITHIN_MS: '3000',
      SMTP_FALLBACK_URL: `smtp://127.0.0.1:${port}?ignoreTLS=true`,
    })
    stage.smtp.act = ({ step }) => (step === 'RCPT' ? say('452 4.3.1 full') : undefined)
    await stage.driver.load(stage.callbacks('email', 10), 5)
    t.equal(fallback.mails.length, 10, 'refused: the fallback has them, within the answer')
    stage.smtp.act = ({ step }) => (step === 'dot' ? { is: 'stall', accept: true } : undefined)
    await stage.driver.load(stage.callbacks('email', 1), 1)
    t.equal(fallback.mails.length, 10, 'ambiguous: it is not asked in the same attempt')
    await stage.atRest()
    t.equal(fallback.mails.length, 11, 'but has the copy')
    await stage.smtp.close()
    await stage.driver.load(stage.callbacks('email', 10), 5)
    await stage.atRest()
    t.equal(fallback.mails.length, 21, 'gone: the fallback has them')
    const all = { mails: [...stage.smtp.mails, ...fallback.mails] }
    await stage.service().close()
    t.equal(new Set(all.mails.map(each => each.to[0])).size, 21)
    t.equal(all.mails.length, 22, 'one came twice: the ambiguous one')
  },
)
