import t, { type Test } from 'tap'
import { createTestCertificate } from '../rigs/certificate.ts'
import { until } from '../rigs/service.ts'
import { createSmtpServer, type SmtpAct, type SmtpMoment } from '../rigs/smtp-server.ts'
import { loadUnder, openStage, PATIENT, pause, QUICK, type Stage } from './stage.ts'

t.jobs = 4

const say = (reply: string, close = false): SmtpAct => ({ is: 'say', reply, close })

type Fault = (moment: SmtpMoment) => SmtpAct | undefined

const PASSING = {
  'a 4xx to the recipient': ({ step }) => (step === 'RCPT' ? say('450 4.2.0 greylisted') : undefined),
  'a 421 at any step': ({ step }) =>
    ['greeting', 'MAIL', 'DATA', 'dot'].includes(step) ? say('421 4.3.2 closing', true) : undefined,
  'a stall at the greeting': ({ step }) => (step === 'greeting' ? { is: 'stall' } : undefined),
  'a stall at RCPT': ({ step }) => (step === 'RCPT' ? { is: 'stall' } : undefined),
  'a stall at DATA': ({ step }) => (step === 'DATA' ? { is: 'stall' } : undefined),
  'a connection dropped at RCPT': ({ step }) => (step === 'RCPT' ? { is: 'drop', reset: true } : undefined),
  'a wrong password': ({ step }) => (step === 'AUTH' ? say('535 5.7.8 wrong') : undefined),
} as const satisfies Readonly<Record<string, Fault>>

/** Runs a load of mails while the server does something else at some of its steps, then lets it behave. */
async function under(t: Test, count: number, limits: typeof QUICK, fault: Fault): Promise<Stage> {
  const stage = await openStage(t, { ANSWER_WITHIN_MS: '300', SMTP_CONNECTIONS: '5' }, { limits })
  await loadUnder(stage, stage.callbacks('email', count), fault, given => {
    stage.smtp.act = given
  })
  return stage
}

/** Nothing was lost, and nothing came twice: no attempt was ambiguous. */
async function onceEach(t: Test, stage: Stage): Promise<void> {
  const found = await stage.finish()
  const count = stage.driver.record.length
  t.match(found, { answered: count, delivered: count, lost: 0, duplicated: 0, ambiguous: 0 })
}

for (const [name, fault] of Object.entries<Fault>(PASSING))
  t.test(`${name}: everything arrives once when it has passed`, async t =>
    onceEach(t, await under(t, 40, PATIENT, fault)),
  )

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

t.test('a server that never answers after the dot: four copies, then unknown', async t => {
  // A busy machine may hold up any step but the one that is tried.
  const smtp = { connectMs: 15_000, greetingMs: 15_000, commandMs: 15_000, replyMs: 1000 }
  const stage = await openStage(t, { ANSWER_WITHIN_MS: '200' }, { limits: { ...QUICK, smtp } })
  stage.smtp.act = ({ step }) => (step === 'dot' ? { is: 'stall', accept: true } : undefined)
  // One: the breaker leaves a server alone at which more ends are unknown.
  await stage.driver.load(stage.callbacks('email', 1), 1)
  await stage.atRest()
  const { rows, ...found } = await stage.finish()
  t.match(found, { answered: 1, delivered: 1, duplicated: 1, lost: 0, states: { unknown: 1 } })
  t.ok(rows.every(row => row.attempts === 4 && row.timeline.length === 4))
})

t.test('TLS refused, then offered with a wrong certificate: nothing goes out in the clear', async t => {
  const other = createSmtpServer({ certificate: await createTestCertificate({ name: 'other.example' }) })
  const { port } = await other.listen()
  t.teardown(() => other.close())
  const stage = await openStage(t, { ANSWER_WITHIN_MS: '300', SMTP_URL: `smtp://127.0.0.1:${port}` })
  other.act = ({ step }) => (step === 'STARTTLS' ? say('454 4.7.0 TLS is not available') : undefined)
  await stage.driver.load(stage.callbacks('email', 5, { lifeMs: 2000 }), 5)
  other.act = undefined
  await stage.driver.load(stage.callbacks('email', 5, { lifeMs: 2000 }), 5)
  await stage.atRest()
  const found = await stage.finish()
  t.match(found, { answered: 10, lost: 0, states: { expired: 10 } })
  t.same(other.mails, [])
  t.notOk(other.connections.some(({ commands }) => commands.some(line => line.startsWith('MAIL'))))
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

t.test('a kept connection that died quietly delays no answer, and loses nothing', async t => {
  const limits = { ...PATIENT, smtp: { ...PATIENT.smtp, commandMs: 4000 } }
  const stage = await openStage(t, { ANSWER_WITHIN_MS: '300', SMTP_CONNECTIONS: '2' }, { limits })
  await stage.driver.load(stage.callbacks('email', 6), 3)
  await stage.atRest()
  const old = stage.smtp.connections.length
  // As behind a firewall that has forgotten the connection: what is sent over it gets no answer.
  stage.smtp.act = ({ connection }) => (connection <= old ? { is: 'stall' } : undefined)
  const answers = await stage.driver.load(stage.callbacks('email', 10), 5)
  for (const { askedAt, answeredAt } of answers)
    t.ok(answeredAt - askedAt < 300 + 2000, 'the answer did not wait')
  await stage.atRest()
  await onceEach(t, stage)
})
