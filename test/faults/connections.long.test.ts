import t, { type Test } from 'tap'
import { createSmtpServer, type SmtpServer } from '../rigs/smtp-server.ts'
import { openStage, PATIENT, pause, type Stage } from './stage.ts'

const TAKEN = 5
const CALLERS = 50

interface Play {
  readonly server: SmtpServer
  readonly stage: Stage
  /** Sends so many mails from all callers, and waits until the last has arrived. */
  send(mails: number): Promise<void>
}

/** The service before a mail server that greets the sixth connection with 421. */
async function openPlay(t: Test, mailMs: number): Promise<Play> {
  const server = createSmtpServer({ maxConnections: TAKEN })
  const { port } = await server.listen()
  t.teardown(() => server.close())
  server.act = ({ step }) => (step === 'dot' ? { is: 'wait', ms: mailMs } : undefined)
  const stage = await openStage(
    t,
    { ANSWER_WITHIN_MS: '3000', SMTP_URL: `smtp://127.0.0.1:${port}?ignoreTLS=true` },
    { limits: PATIENT },
  )
  return {
    server,
    stage,
    async send(mails) {
      const before = server.mails.length
      const answers = await stage.driver.load(stage.callbacks('email', mails), CALLERS)
      const taken = answers.filter(each => each.errCode === 0).length
      while (server.mails.length < before + taken) await pause(5)
      t.equal(taken, mails, 'each is taken')
    },
  }
}

for (const { mailMs, mails } of [
  { mailMs: 5, mails: 100 },
  { mailMs: 20, mails: 100 },
  { mailMs: 100, mails: 60 },
])
  t.test(
    `a server that takes ${mailMs} ms a mail and refuses a sixth connection is not asked for one again, and all five places are used`,
    async t => {
      const { server, stage, send } = await openPlay(t, mailMs)
      // It finds out how many are taken. Ten are tried at first; a place that a refusal frees is taken over a connection that stands.
      await send(mails)
      const asked = server.connections.length
      t.ok(asked > TAKEN && asked <= 2 * TAKEN, `${asked - TAKEN} connections were refused at first`)

      // From now on a mail is answered when all places have one: with a place less, none would ever be.
      let waiting: (() => void)[] = []
      server.act = ({ step }) => {
        if (step !== 'dot') return undefined
        const until = new Promise<void>(resolve => waiting.push(resolve))
        if (waiting.length === TAKEN) {
          for (const letGo of waiting) letGo()
          waiting = []
        }
        return { is: 'hold', until }
      }
      await send(mails)
      t.equal(server.connections.length, asked, 'none was asked for again')
      await stage.atRest()
      await stage.service().close()
      t.equal(server.mails.length, 2 * mails, 'each came once')
      t.equal(new Set(server.mails.map(each => each.to[0])).size, server.mails.length)
    },
  )
