import t from 'tap'
import { createSmtpServer } from '../rigs/smtp-server.ts'
import { openStage, PATIENT, pause } from './stage.ts'

const TAKEN = 5
const MAIL_MS = 20
const MAILS = 600

t.setTimeout(120_000)

t.test('a server that refuses a sixth connection is not asked for one again, and loses no rate', async t => {
  const server = createSmtpServer({ maxConnections: TAKEN })
  const { port } = await server.listen()
  t.teardown(() => server.close())
  server.act = ({ step }) => (step === 'dot' ? { is: 'wait', ms: MAIL_MS } : undefined)
  const stage = await openStage(
    t,
    { ANSWER_WITHIN_MS: '3000', SMTP_URL: `smtp://127.0.0.1:${port}?ignoreTLS=true` },
    { limits: PATIENT },
  )
  const refused = () => server.connections.length - TAKEN
  // The first ones find out how many it takes.
  await stage.driver.load(stage.callbacks('email', 50), 50)
  for (const end = Date.now() + 20_000; server.mails.length < 50 && Date.now() < end; ) await pause(20)
  const asked = server.connections.length
  // Ten are tried at first; a place that a refusal frees is taken over a connection that stands.
  t.ok(refused() > 0 && refused() <= 5, `${refused()} connections were refused at first`)

  const before = server.mails.length
  const began = performance.now()
  const answers = await stage.driver.load(stage.callbacks('email', MAILS), 50)
  for (const end = Date.now() + 40_000; server.mails.length < before + MAILS && Date.now() < end; )
    await pause(5)
  const perSecond = MAILS / ((performance.now() - began) / 1000)
  t.ok(answers.every(each => each.errCode === 0))
  t.equal(server.connections.length, asked, 'none was asked for again')
  t.comment(`${Math.round(perSecond)}/s of ${(TAKEN * 1000) / MAIL_MS}/s`)
  const busiest = new Set(server.mails.slice(before).map(each => each.connection))
  t.equal(busiest.size, TAKEN, 'all that it takes are in use')
  await stage.atRest()
  await stage.service().close()
  t.equal(new Set(server.mails.map(each => each.to[0])).size, 50 + MAILS)
  t.equal(server.mails.length, 50 + MAILS, 'each came once')
})
