import t, { type Test } from 'tap'
import { median } from '../../bench/loop.ts'
import { patient } from '../rigs/patience.ts'
import type { Settings } from '../rigs/service.ts'
import { createSmtpServer, type SmtpServer } from '../rigs/smtp-server.ts'
import { openStage, PATIENT, pause, type Stage } from './stage.ts'

const TAKEN = 5
const CALLERS = 50
const ROUNDS = 5

t.setTimeout(patient(180_000))

interface Play {
  readonly server: SmtpServer
  readonly stage: Stage
  /** Sends so many mails from all callers. @returns how long it took until the last had arrived, ms. */
  send(mails: number): Promise<number>
}

/** The service before a mail server that greets the sixth connection with 421. */
async function openPlay(t: Test, mailMs: number, settings: Settings): Promise<Play> {
  const server = createSmtpServer({ maxConnections: TAKEN })
  const { port } = await server.listen()
  t.teardown(() => server.close())
  server.act = ({ step }) => (step === 'dot' ? { is: 'wait', ms: mailMs } : undefined)
  const stage = await openStage(
    t,
    { ANSWER_WITHIN_MS: '3000', SMTP_URL: `smtp://127.0.0.1:${port}?ignoreTLS=true`, ...settings },
    { limits: PATIENT },
  )
  return {
    server,
    stage,
    async send(mails) {
      const all = server.mails.length + mails
      const began = performance.now()
      const answers = await stage.driver.load(stage.callbacks('email', mails), CALLERS)
      for (const end = began + patient(40_000); server.mails.length < all && performance.now() < end; )
        await pause(5)
      const tookMs = performance.now() - began
      t.ok(answers.every(each => each.errCode === 0))
      return tookMs
    },
  }
}

for (const { mailMs, mails } of [
  { mailMs: 5, mails: 100 },
  { mailMs: 20, mails: 100 },
  { mailMs: 100, mails: 60 },
])
  t.test(
    `a server that takes ${mailMs} ms a mail and refuses a sixth connection is not asked for one again, and loses no rate`,
    async t => {
      const free = await openPlay(t, mailMs, {})
      const told = await openPlay(t, mailMs, { SMTP_CONNECTIONS: String(TAKEN) })
      // One finds out how many are taken, and the code of both becomes warm.
      await free.send(mails)
      await told.send(mails)
      const asked = free.server.connections.length
      // Ten are tried at first; a place that a refusal frees is taken over a connection that stands.
      t.ok(asked > TAKEN && asked <= 2 * TAKEN, `${asked - TAKEN} connections were refused at first`)

      // In turns, since platform, services and servers share a process, and other work holds it up; the median of the rounds.
      const rounds: { readonly freeMs: number; readonly toldMs: number }[] = []
      for (let round = 1; round <= ROUNDS; round += 1) {
        const isFreeFirst = round % 2 === 1
        const first = await (isFreeFirst ? free : told).send(mails)
        const second = await (isFreeFirst ? told : free).send(mails)
        rounds.push(isFreeFirst ? { freeMs: first, toldMs: second } : { freeMs: second, toldMs: first })
      }
      const share = median(rounds.map(({ freeMs, toldMs }) => toldMs / freeMs))
      const perSecond = (ms: readonly number[]): number => Math.round((mails * 1000) / median(ms))
      const [freeRate, toldRate] = [
        perSecond(rounds.map(each => each.freeMs)),
        perSecond(rounds.map(each => each.toldMs)),
      ]
      t.comment(`${freeRate}/s; told that it takes five, ${toldRate}/s; ${share.toFixed(2)} round by round`)
      t.ok(share >= 0.9, `${share.toFixed(2)} of the rate with the setting that fits`)
      t.equal(free.server.connections.length, asked, 'none was asked for again')
      const busy = new Set(free.server.mails.slice(mails).map(each => each.connection))
      t.equal(busy.size, TAKEN, 'all that it takes are in use')
      for (const { server, stage } of [free, told]) {
        await stage.atRest()
        await stage.service().close()
        t.equal(server.mails.length, (1 + ROUNDS) * mails, 'each came once')
        t.equal(new Set(server.mails.map(each => each.to[0])).size, server.mails.length)
      }
    },
  )
