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
  const start = (env: Record<string, string> = {}) =>
    openStage(
      t,
      { ANSWER_WITHIN_MS: '3000', SMTP_URL: `smtp://127.0.0.1:${port}?ignoreTLS=true`, ...env },
      { limits: PATIENT },
    )
  const arrived = async (mails: number, withinMs: number): Promise<void> => {
    for (const end = Date.now() + withinMs; server.mails.length < mails && Date.now() < end; ) await pause(5)
  }
  /** Sends so many mails from 50 callers. @returns how many arrived a second. */
  const measureRate = async (stage: Awaited<ReturnType<typeof start>>): Promise<number> => {
    const before = server.mails.length
    const began = performance.now()
    const answers = await stage.driver.load(stage.callbacks('email', MAILS), 50)
    t.ok(answers.every(each => each.errCode === 0))
    await arrived(before + MAILS, 40_000)
    return MAILS / ((performance.now() - began) / 1000)
  }

  const stage = await start()
  // The first ones find out how many it takes.
  await stage.driver.load(stage.callbacks('email', 50), 50)
  await arrived(50, 20_000)
  const asked = server.connections.length
  const refused = asked - TAKEN
  // Ten are tried at first; a place that a refusal frees is taken over a connection that stands.
  t.ok(refused > 0 && refused <= 5, `${refused} connections were refused at first`)
  const perSecond = await measureRate(stage)
  t.equal(server.connections.length, asked, 'none was asked for again')
  const busiest = new Set(server.mails.slice(50).map(each => each.connection))
  t.equal(busiest.size, TAKEN, 'all that it takes are in use')
  await stage.atRest()
  await stage.service().close()
  t.equal(new Set(server.mails.map(each => each.to[0])).size, 50 + MAILS)
  t.equal(server.mails.length, 50 + MAILS, 'each came once')

  const told = await start({ SMTP_CONNECTIONS: String(TAKEN) })
  await told.driver.load(told.callbacks('email', 50), 50)
  await arrived(100 + MAILS, 20_000)
  const toldPerSecond = await measureRate(told)
  const share = perSecond / toldPerSecond
  t.comment(`${Math.round(perSecond)}/s; told that it takes five, ${Math.round(toldPerSecond)}/s`)
  // Platform, service and server share a process here, which other tests hold up.
  t.ok(share >= 0.8, `${share.toFixed(2)} of the rate with the setting that fits`)
  await told.atRest()
  await told.service().close()
  t.equal(server.mails.length, 2 * (50 + MAILS))
})
