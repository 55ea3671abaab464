import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { startService } from '../src/service/service.ts'
import { type Callback, createCallbacks } from './faults/callbacks.ts'
import { createDriver, type Driver } from './faults/driver.ts'
import { backlogOf } from './faults/stage.ts'
import { noPostgres, type PostgresRig, startPostgres } from './rigs/postgres.ts'
import { type Settings, type Sinks, startSinks, until } from './rigs/service.ts'
import { signedReport } from './rigs/twilio-server.ts'

const PUBLIC_URL = 'https://callbacks.example.com'

interface Replica {
  readonly driver: Driver
  readonly publicUrl: string
  readonly adminUrl: string
  /** Of its log. */
  readonly lines: readonly string[]
}

interface Fleet extends Sinks {
  readonly replicas: readonly [Replica, Replica]
}

/** Two replicas on an empty store of their own, started at the same time. */
async function fleet(t: Test, postgres: PostgresRig, more: Settings = {}): Promise<Fleet> {
  const sinks = await startSinks(t)
  const env = { ...sinks.settings, PUBLIC_URL, ...more, DATABASE_URL: await postgres.url() }
  const start = async (): Promise<Replica> => {
    const lines: string[] = []
    const service = await startService(env, { log: { write: line => void lines.push(line) } })
    t.teardown(() => service.close())
    const { publicUrl, adminUrl } = service
    const path = (channel: 'email' | 'sms') => new URL(service.urls[channel] ?? '').pathname
    const urls = { email: `${publicUrl}${path('email')}`, sms: `${publicUrl}${path('sms')}` }
    const driver = createDriver({ urls: () => urls, ca: sinks.ca })
    t.teardown(() => driver.close())
    return { driver, publicUrl, adminUrl, lines }
  }
  return { ...sinks, replicas: await Promise.all([start(), start()]) }
}

async function text(url: string): Promise<{ readonly status: number; readonly text: string }> {
  const { statusCode, body } = await request(url)
  return { status: statusCode, text: await body.text() }
}

t.test('replicas behind one address', { skip: noPostgres }, async t => {
  const postgres = await startPostgres(t)
  const callback = createCallbacks()

  await t.test('the same body given to both at once is one message, and one answer', async t => {
    const { replicas, smtp } = await fleet(t, postgres, { ANSWER_WITHIN_MS: '25000' })
    const [one, two] = replicas
    const ended = Promise.withResolvers<void>()
    const held = callback('email')
    smtp.act = ({ step, line }) => {
      if (line.includes(held.to)) return { is: 'hold', until: ended.promise }
      return step === 'dot' ? { is: 'wait', ms: 100 } : undefined
    }
    let order = ''
    const post = async ({ driver }: Replica, each: Callback) => {
      t.equal((await driver.post(each)).errCode, 0)
      order += each === held ? 'H' : '.'
    }
    const waiting = post(one, held)
    const given = Array.from({ length: 8 }, () => callback('email'))
    await Promise.all(given.flatMap(each => [post(one, each), post(two, each)]))
    t.equal(order, '.'.repeat(16), 'they heard of the end, and did not wait until they had to answer')
    ended.resolve()
    await waiting
    t.equal(smtp.mails.length, 9)
    t.same(new Set(smtp.mails.map(mail => mail.to[0])), new Set([held, ...given].map(each => each.to)))
  })

  await t.test('a refusal is the answer of both', async t => {
    const { replicas, smtp } = await fleet(t, postgres)
    const [one, two] = replicas
    const refuse = { is: 'say', reply: '550 5.1.1 no such user' } as const
    let asked = 0
    smtp.act = ({ step }) => {
      if (step !== 'RCPT') return undefined
      asked += 1
      return refuse
    }
    const each = callback('email')
    const answers = await Promise.all([one.driver.post(each), two.driver.post(each)])
    t.same(
      answers.map(answer => answer.errCode),
      [4002012, 4002012],
    )
    t.equal(asked, 1)
    t.equal((await two.driver.post(each)).errCode, 4002012, 'and of whoever is asked within 45 s')
    t.equal(asked, 1)
  })

  await t.test('what one has no connection for the other one sends', async t => {
    const { replicas, smtp } = await fleet(t, postgres, { SMTP_CONNECTIONS: '1', ANSWER_WITHIN_MS: '200' })
    const [one] = replicas
    smtp.act = ({ step }) => (step === 'dot' ? { is: 'wait', ms: 400 } : undefined)
    await one.driver.load(
      Array.from({ length: 24 }, () => callback('email')),
      24,
    )
    await until(() => smtp.mails.length === 24, 'all are sent')
    t.ok(new Set(smtp.mails.map(mail => mail.connection)).size > 1, 'over the connections of both')
    t.equal(new Set(smtp.mails.map(mail => mail.to[0])).size, 24)
  })

  await t.test('a quota counts what both have sent', async t => {
    const { replicas, twilio } = await fleet(t, postgres, { QUOTAS: 'recipient-10m=4' })
    const answers: (number | undefined)[] = []
    for (let n = 0; n < 6; n += 1) {
      const each = callback('sms', { person: 7 })
      answers.push((await replicas[n % 2]?.driver.post(each))?.errCode)
    }
    t.same(answers, [0, 0, 0, 0, 4291001, 4291001])
    t.equal(twilio.messages.length, 4)
  })

  await t.test('a receipt is taken by any of them, and shown by all', async t => {
    const { replicas, twilio, ca } = await fleet(t, postgres)
    const [one, two] = replicas
    await one.driver.post(callback('sms'))
    const sent = () => one.lines.find(line => line.includes('"provider_id"'))
    await until(() => sent() !== undefined, 'the SMS is sent')
    t.equal(twilio.messages.length, 1)
    const sid = String((JSON.parse(sent() ?? '{}') as Record<string, unknown>)['provider_id'])
    const agent = new Agent({ connect: { ca } })
    t.teardown(() => agent.close())
    const report = async (replica: Replica, status: string) => {
      const fields = { MessageSid: sid, MessageStatus: status }
      const { statusCode, body } = await request(`${replica.publicUrl}/receipt/twilio`, {
        dispatcher: agent,
        ...signedReport(PUBLIC_URL, fields),
      })
      await body.dump()
      return statusCode
    }
    t.equal(await report(two, 'delivered'), 204)
    t.equal(await report(one, 'sent'), 204, 'one that came late')
    for (const { adminUrl } of replicas)
      t.match((await text(`${adminUrl}/console/messages`)).text, 'delivered')
  })

  await t.test('each shows the whole backlog: together they are not to be added up', async t => {
    const { replicas, smtp } = await fleet(t, postgres, { ANSWER_WITHIN_MS: '500' })
    const [one, two] = replicas
    const later = { is: 'say', reply: '450 4.2.0 greylisted' } as const
    smtp.act = ({ step }) => (step === 'RCPT' ? later : undefined)
    const answers = [
      ...(await one.driver.load([callback('email'), callback('email'), callback('email')], 3)),
      await two.driver.post(callback('email')),
    ]
    t.same(
      answers.map(each => each.errCode),
      [0, 0, 0, 0],
    )
    t.same(await Promise.all(replicas.map(each => backlogOf(each.adminUrl))), [4, 4])
  })

  await t.test(
    'the database is away: both say so and refuse; when it is back they go on by themselves',
    async t => {
      const { replicas, smtp } = await fleet(t, postgres)
      const [one] = replicas
      const ready = () =>
        Promise.all(replicas.map(async each => (await text(`${each.adminUrl}/readyz`)).status))
      t.same(await ready(), [200, 200])
      await one.driver.post(callback('email'))
      await postgres.stop()
      t.same(await ready(), [503, 503])
      for (const { driver } of replicas) {
        const { status, errCode, retryAfter } = await driver.post(callback('email'))
        t.match({ status, errCode }, { status: 503, errCode: 5031002 })
        t.ok(Number(retryAfter) > 0)
      }
      for (const { adminUrl } of replicas) t.equal((await text(`${adminUrl}/healthz`)).status, 200)
      await postgres.start()
      await until(async () => !(await ready()).includes(503), 'both are ready')
      for (const { driver } of replicas) t.equal((await driver.post(callback('email'))).errCode, 0)
      t.equal(smtp.mails.length, 3)
    },
  )
})
