import { request as passOn } from 'node:http'
import { createServer } from 'node:https'
import t, { type Test } from 'tap'
import { trustDuring } from '../rigs/authorities.ts'
import { createTestCertificate } from '../rigs/certificate.ts'
import { startDnsServer } from '../rigs/dns-server.ts'
import { listen } from '../rigs/listen.ts'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { mailBody, smsBody, startRig, until } from '../rigs/service.ts'
import { startSmtpServer } from '../rigs/smtp-server.ts'
import { startTwilioServer } from '../rigs/twilio-server.ts'

const NAMES = ['mail', 'sms', 'hooks', 'db'].map(name => `${name}.courier.test`)
const MAIL = 'mail.courier.test'

/** A POST of webhooks. */
interface Told {
  readonly data: {
    readonly events: readonly {
      readonly type: string
      readonly data: { readonly channel?: string; readonly provider?: string }
    }[]
  }
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0
}

/** The service, everybody that it talks to by name, and the DNS server that knows them all. */
async function start(t: Test) {
  const resolver = await startDnsServer(t, Object.fromEntries(NAMES.map(name => [name, '127.0.0.1'])))
  const certificate = await createTestCertificate({ name: '*.courier.test' })
  trustDuring(t, certificate.cert)
  const { server: smtp, port: mailPort } = await startSmtpServer(t)
  const twilio = await startTwilioServer()
  t.teardown(() => twilio.close())
  const carrier = createServer(certificate, (request, response) => {
    // A connection for each request, so that each asks for the name.
    response.shouldKeepAlive = false
    const onward = passOn(
      `${twilio.url}${request.url}`,
      { method: request.method, headers: request.headers },
      answer => {
        response.statusCode = answer.statusCode ?? 500
        answer.pipe(response)
      },
    )
    request.pipe(onward)
  })
  const smsPort = await listen(t, carrier)
  const events: string[] = []
  const hooks = createServer(certificate, (request, response) => {
    request.on('data', chunk => events.push(String(chunk))).on('end', () => response.end())
  })
  const hooksPort = await listen(t, hooks)
  const postgres = noPostgres === false ? await startPostgres(t, { tls: certificate }) : undefined
  const rig = await startRig(t, {
    SMTP_URL: `smtp://${MAIL}:${mailPort}?ignoreTLS=true`,
    TWILIO_API_URL: `https://sms.courier.test:${smsPort}`,
    EVENTS_URL: `https://hooks.courier.test:${hooksPort}/`,
    EVENTS_SECRET: `whsec_${Buffer.from('canary-hook-secret-0123456789').toString('base64')}`,
    // Nobody is answered because the time is over: whoever waits for the silent DNS, waits until it speaks.
    ANSWER_WITHIN_MS: '30000',
    LOG_LEVEL: 'trace',
    ...(postgres && {
      DATABASE_URL: `postgres://courier@db.courier.test:${postgres.port}/postgres?sslmode=verify-full`,
    }),
  })
  const ready = async () => (await (await fetch(`${rig.service().adminUrl}/readyz`)).json()) as object
  return { rig, resolver, smtp, twilio, events, ready }
}

t.test('a silent DNS of the mail server stops nothing else', async t => {
  const { rig, resolver, smtp, twilio, events, ready } = await start(t)
  let sent = 0
  /** Sends SMS, one after the other. @returns how long half of them took at most, ms. */
  async function sendSms(count: number): Promise<number> {
    const times: number[] = []
    for (let n = 0; n < count; n += 1) {
      sent += 1
      const answer = await rig.post('sms', smsBody({ to: `138001${38000 + sent}` }))
      t.match(answer, { status: 200, errCode: 0 })
      t.equal(twilio.messages.length, sent, 'it is answered since it was sent')
      times.push(answer.ms)
    }
    return median(times)
  }
  // What is sent now is the twin of what is sent beside the silence, which lasts 3 s at a time.
  await sendSms(3)
  const usual = await sendSms(12)
  resolver.silent.add(MAIL)
  let codes: ReturnType<typeof rig.post>[] = []

  await t.test('before it was ever found: mail waits, SMS and webhooks do not', async t => {
    codes = Array.from({ length: 20 }, (_, n) =>
      rig.post('email', mailBody({ to: `reader${n}@example.com` }, { type: 5, code: `48291${n}` })),
    )
    await until(() => resolver.asked.includes(MAIL), 'the name is asked for')
    const half = await sendSms(12)
    t.ok(half < 10 * usual, `half of them within ${half} ms, ${usual} ms before`)
    await until(() => rig.log.some(line => /EAI_AGAIN/.test(line)), 'the silence is noticed')
    await sendSms(3)
    const told = () => events.flatMap(text => (JSON.parse(text) as Told).data.events)
    const ended = () => told().filter(({ type, data }) => type === 'message.ended' && data.channel === 'sms')
    await until(() => ended().length === sent, 'webhooks of all SMS')
    t.same(
      told().flatMap(({ type, data }) => (type === 'provider.down' ? [data.provider] : [])),
      ['smtp'],
    )
    t.equal(smtp.mails.length, 0)
    t.ok(resolver.asked.filter(name => name === MAIL).length < 20, 'those who wait share a question')
    t.strictSame(await ready(), { status: 'ready', degraded: ['email'] })
    const attempts = rig.events().filter(({ event }) => event === 'attempt')
    t.same(
      attempts.filter(({ provider, outcome }) => provider !== 'smtp' && outcome !== 'sent'),
      [],
    )
    t.match(rig.log.join(''), `the DNS does not answer for ${MAIL}`)
  })

  await t.test('the DNS speaks again: mail goes out', async t => {
    resolver.silent.clear()
    t.strictSame(new Set((await Promise.all(codes)).map(each => each.errCode)), new Set([0]))
    await until(() => smtp.mails.length === 20, 'all mails are sent')
    t.strictSame(await ready(), { status: 'ready', degraded: [] })
  })
})
