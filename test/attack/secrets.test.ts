import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { callbackKeys } from '../../src/callback/authenticate.ts'
import { describeStartFailure } from '../../src/service/process.ts'
import { startService } from '../../src/service/service.ts'
import { type ServiceProcess, spawnService, startProcess } from '../rigs/process.ts'
import {
  CORP_ID,
  EMAIL_TOKEN,
  mailBody,
  type Settings,
  type Sinks,
  SMS_TOKEN,
  SMTP_PASSWORD,
  shown,
  smsBody,
  startSinks,
  until,
} from '../rigs/service.ts'
import { AUTH_TOKEN } from '../rigs/twilio-server.ts'

const ADMIN_TOKENS = 'canary-admin-token-8f31'
const STORE_SECRET = 'canary-store-secret-0123456789'
const CODE = 'canaryCode482913'
const LINK = 'https://www.example.com/canary-link?token=canaryLinkToken77'
const NAME = 'Canary Username'
/** Stands in the plain text alone. */
const WORD = 'canaryphrase'
const ENCODED = Buffer.from(`your word is ${WORD}`).toString('base64')
const ADDRESS = 'canary.ann@example.com'
const NUMBER = '13912345678'
const keys = {
  email: callbackKeys('email', { corpId: CORP_ID, token: EMAIL_TOKEN }).current,
  sms: callbackKeys('sms', { corpId: CORP_ID, token: SMS_TOKEN }).current,
}
/** Nothing of these may be found anywhere but in the mails and SMS themselves. */
const CANARIES: Readonly<Record<string, string>> = {
  EMAIL_TOKEN,
  SMS_TOKEN,
  'e-mail key': keys.email,
  'SMS key': keys.sms,
  'SMTP password': SMTP_PASSWORD,
  'Twilio token': AUTH_TOKEN,
  'Twilio token, as Basic': Buffer.from(`:${AUTH_TOKEN}`).toString('base64').slice(4, -4),
  ADMIN_TOKENS,
  STORE_SECRET,
  code: CODE,
  link: 'canary-link',
  'link token': 'canaryLinkToken77',
  name: NAME,
  'word of the plain text': WORD,
  'the same, encoded': ENCODED,
  address: ADDRESS,
  'local part': 'canary.ann',
  number: NUMBER,
}

function holdsNone(t: Test, text: string, where: string): void {
  for (const [name, canary] of Object.entries(CANARIES)) {
    const at = text.indexOf(canary)
    if (at >= 0) t.fail(`${where} holds the ${name}: ${shown(text.slice(Math.max(0, at - 150), at + 20))}`)
  }
  t.pass(where)
}

function settingsOf(sinks: Sinks, more: Settings = {}): Settings {
  return {
    ...sinks.settings,
    ADMIN_TOKENS,
    STORE_SECRET,
    LOG_LEVEL: 'trace',
    ANSWER_WITHIN_MS: '500',
    QUOTAS: 'recipient-10m=30',
    ...more,
  }
}

/** What an attacker, the platform and an operator see: every answer's head and body. */
function caller(t: Test, service: ServiceProcess) {
  const agent = new Agent({ connect: { rejectUnauthorized: false } })
  t.teardown(() => agent.destroy())
  const answers: string[] = []
  let made = 0

  async function ask(
    url: string,
    init: { method?: 'GET' | 'POST'; body?: string; headers?: Record<string, string> } = {},
  ) {
    const { statusCode, headers, body } = await request(url, { dispatcher: agent, ...init })
    const text = await body.text()
    answers.push(`${statusCode} ${JSON.stringify(headers)} ${text}`)
    return { status: statusCode, text }
  }
  const post = (channel: 'email' | 'sms', body: object | string, key = keys[channel]) =>
    ask(`${service.publicUrl}/callback/${CORP_ID}/${key}/${channel}`, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  // Each is another message, and each holds every canary that its kind can hold.
  const mail = (params: object = {}) =>
    post(
      'email',
      mailBody(
        { to: ADDRESS, subject: `A subject ${(made += 1)}`, plain_email: `${CODE} ${LINK} ${WORD}` },
        { type: 9, url: LINK, username: NAME, email: ADDRESS, verifycode: CODE, ...params },
      ),
    )
  const sms = (params: object = {}) =>
    post(
      'sms',
      smsBody(
        { to: NUMBER, plugin_id: `p${(made += 1)}`, plain_sms: `Say ${WORD} to nobody` },
        { code: CODE, ...params },
      ),
    )
  const admin = (path: string, init: object = {}) =>
    ask(`${service.adminUrl}${path}`, { headers: { authorization: `Bearer ${ADMIN_TOKENS}` }, ...init })
  return { answers, ask, post, mail, sms, admin }
}

/** What the service told them, and a little more, repeated in their answers as servers do that mean well. */
const SMTP_ECHO = `${ADDRESS} ${CODE} ${LINK} ${NAME} ${SMTP_PASSWORD} ${WORD} ${ENCODED}`
const TWILIO_ECHO = `${WORD} ${ENCODED} ${CODE} ${NUMBER} +86${NUMBER} ${AUTH_TOKEN} ${LINK} ${ADDRESS}`

t.test('no secret, code, link or recipient is said, shown or kept, whatever happens', async t => {
  const sinks = await startSinks(t)
  const service = await startProcess(t, settingsOf(sinks))
  const { answers, ask, post, mail, sms, admin } = caller(t, service)
  const finals = () =>
    service
      .stdout()
      .split('\n')
      .filter(line => line.includes('"event":"final"')).length
  const files = () =>
    readdirSync(sinks.directory)
      .filter(name => name.startsWith('outbox'))
      .map(name => readFileSync(join(sinks.directory, name)).toString('latin1'))
      .join('\n')
  let accepted = 0
  const sends = async () => {
    for (const { status } of [await mail(), await sms()]) if (status === 200) accepted += 1
  }

  await sends()
  t.equal(accepted, 2)
  t.match(sinks.smtp.mails[0]?.data.toString(), 'canary.ann', 'what is looked for was really said')
  await until(() => sinks.twilio.messages.length > 0, 'the SMS goes out')
  t.match(sinks.twilio.messages[0]?.body, CODE)

  // Every way a mail server says no, with what it was told in its words.
  for (const [step, reply] of [
    ['RCPT', `550 5.1.1 no such user ${SMTP_ECHO}`],
    ['RCPT', `450 4.2.1 ${SMTP_ECHO}`],
    ['MAIL', `530 5.7.0 ${SMTP_ECHO}`],
    ['AUTH', `535 5.7.8 wrong password ${SMTP_PASSWORD} of ${SMTP_ECHO}`],
    ['DATA', `451 4.3.0 ${SMTP_ECHO}`],
    ['dot', `554 5.6.0 message refused: ${SMTP_ECHO}`],
    ['dot', `451 4.3.0 ${SMTP_ECHO}`],
    ['dot', `250 2.0.0 thanks ${SMTP_ECHO}`],
    ['greeting', `554 5.3.2 ${SMTP_ECHO}`],
    ['EHLO', `421 ${SMTP_ECHO}`],
  ] as const) {
    sinks.smtp.act = moment =>
      moment.step === step ? { is: 'say', reply, close: step === 'AUTH' } : undefined
    await mail()
  }
  for (const is of ['drop', 'stall'] as const) {
    sinks.smtp.act = ({ step }) => (step === 'dot' ? { is } : undefined)
    await mail({ hour: '0.0005' })
  }
  holdsNone(t, files(), 'the store, while messages wait')
  sinks.smtp.act = undefined

  // Every way Twilio says no.
  const twilioSays = (status: number, code: number) => ({
    is: 'answer' as const,
    status,
    body: JSON.stringify({
      code,
      message: `The 'To' ${TWILIO_ECHO} is wrong`,
      more_info: LINK,
      status,
      details: { TWILIO_ECHO },
    }),
  })
  for (const fault of [
    twilioSays(400, 21211),
    twilioSays(400, 21408),
    twilioSays(400, 21617),
    twilioSays(401, 20003),
    twilioSays(429, 20429),
    twilioSays(500, 20500),
    { is: 'answer' as const, status: 502, body: `<html>${TWILIO_ECHO}</html>` },
    { is: 'answer' as const, status: 201, body: `{"sid":null,"body":"${CODE}"}` },
    { is: 'reset' as const },
    { is: 'half' as const, reset: true },
  ]) {
    sinks.twilio.fault = () => fault
    await sms({ minute: '0.03' })
  }
  sinks.twilio.fault = undefined

  // Callers who are wrong, and say what they know.
  for (const channel of ['email', 'sms'] as const) {
    const path = `${service.publicUrl}/callback/${CORP_ID}/${keys[channel]}/${channel}`
    await ask(`${path}?timestamp=${CODE}&signature=${EMAIL_TOKEN}`)
    await ask(`${path}/${CODE}`)
    await ask(`${path}?x=${CODE}%E0%A4%A`)
    await ask(`${service.publicUrl}/callback/${CORP_ID}/${keys[channel]}/%E0%A4%A`)
    await ask(`${service.publicUrl}/callback/${'x'.repeat(300)}/${keys[channel]}/${channel}`)
    await post(channel, mailBody(), EMAIL_TOKEN)
    await post(channel, `{"to":"${ADDRESS}","code":"${CODE}"`)
    await post(channel, `{"to":{"${CODE}":"${ADDRESS}"},"${CODE}":[]}`)
    await post(channel, {
      subject: CODE,
      to: `${ADDRESS};${NUMBER}`,
      email_param: { type: CODE },
      sms_param: { type: CODE },
    })
    await post(channel, {
      subject: 'x',
      to: ADDRESS,
      email_param: { type: 1, url: `javascript:${LINK}` },
      sms_param: { type: 1, code: `${CODE}\u2028` },
    })
    await post(channel, `{"${CODE}":"${'x'.repeat(70_000)}"}`)
  }
  // More than a quota lets through.
  for (let n = 0; n < 40; n += 1) await sends()

  await until(() => finals() > 30, 'messages come to their ends')

  // What an operator looks at.
  const list = await admin('/console/messages')
  t.match(list.text, 'c***@example.com', 'recipients are masked')
  t.match(list.text, '+86*******5678')
  const ids = new Set(list.text.match(/\/console\/messages\/[0-9a-f]{32}/g))
  t.ok(ids.size > 5)
  for (const path of [
    '/console',
    '/metrics',
    '/healthz',
    '/readyz',
    '/console/templates',
    '/console/send',
    '/console/nothing',
    ...ids,
  ])
    await admin(path)
  await ask(`${service.adminUrl}/console`, { headers: { authorization: `Bearer ${ADMIN_TOKENS}x` } })
  await ask(`${service.adminUrl}/console`, {
    headers: { host: 'evil.test', authorization: `Bearer ${ADMIN_TOKENS}` },
  })
  await ask(`${service.adminUrl}/${CODE}`, { headers: { authorization: `Bearer ${ADMIN_TOKENS}` } })

  for (const answer of answers) {
    if (Object.values(CANARIES).some(canary => answer.includes(canary))) holdsNone(t, answer, 'an answer')
  }
  holdsNone(t, answers.join('\n'), `${answers.length} answers of both listeners`)

  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0)
  holdsNone(t, files(), 'the store')
  holdsNone(t, service.stdout(), 'stdout')
  t.equal(service.stderr(), '')
  t.match(service.stdout(), 'c***@example.com')
  for (const line of service.stdout().trimEnd().split('\n')) {
    const parsed = JSON.parse(line) as Record<string, unknown>
    if (typeof parsed['message'] !== 'string') t.fail(`not a line of the log: ${line}`)
  }
})

t.test('a crash says where, never what', async t => {
  const crash = async (as: string) => {
    const sinks = await startSinks(t)
    const settings = settingsOf(sinks, { CRASH_CANARY: `${CODE} ${LINK} ${ADDRESS}`, CRASH_AS: as })
    const service = await startProcess(t, settings, {
      imports: [new URL('../rigs/crash.ts', import.meta.url).href],
    })
    service.child.kill('SIGUSR2')
    t.equal(await service.exited, 70, as)
    holdsNone(t, service.stdout(), `stdout of a crash by ${as}`)
    holdsNone(t, service.stderr(), `stderr of a crash by ${as}`)
    const last = JSON.parse(service.stdout().trimEnd().split('\n').at(-1) ?? '') as Record<string, unknown>
    t.match(last, {
      level: 60,
      event: 'fault',
      message: 'an unexpected fault: ending, to be started again',
    })
    if (as !== 'text') t.match(JSON.stringify(last), 'crash.ts', 'and where')
  }
  await Promise.all(['exception', 'rejection', 'text'].map(crash))
})

t.test('a start that fails says which setting is wrong, never its value', async t => {
  const sinks = await startSinks(t)
  const wrong: readonly Settings[] = [
    { EMAIL_TOKEN: CODE.slice(0, 12) },
    { SMTP_URL: `smtp://courier:${SMTP_PASSWORD}@127.0.0.1:1/${CODE}` },
    { SMTP_URL: `http://courier:${SMTP_PASSWORD}@127.0.0.1:1` },
    { SMTP_URL: `smtp://courier:${SMTP_PASSWORD}%zz@127.0.0.1:1` },
    { DATABASE_URL: `mysql://courier:${SMTP_PASSWORD}@127.0.0.1/x` },
    { CALLBACK_KEYS: `email:${CODE} with spaces` },
    { ADMIN_TOKENS: 'canary short' },
    { STORE_SECRET: CODE },
    { TWILIO_API_KEY: AUTH_TOKEN },
    { PLUGIN_SENDERS: `{"${CODE}":` },
    { EMAIL_TOKEN_FILE: `/nowhere/${'x'.repeat(5)}` },
    { TLS_KEY_FILE: sinks.settings['TLS_CERT_FILE'] ?? '' },
    { PORT: '99999' },
    { ADMIN_HOST: '0.0.0.0', ADMIN_TOKENS: '' },
  ]
  for (const settings of wrong) {
    const name = Object.keys(settings).join()
    const log: string[] = []
    const said = await startService(settingsOf(sinks, settings), {
      log: { write: line => void log.push(line) },
    }).then(
      () => '',
      error => describeStartFailure(error, 'en'),
    )
    holdsNone(t, `${log.join('\n')}\n${said}`, `a wrong ${name}`)
    t.match(said, /\S/, 'and something is said')
  }
  // The process says the same words; it starts too slowly to be asked each time.
  const service = spawnService(t, ['serve'], settingsOf(sinks, wrong[0]), { cwd: sinks.directory })
  t.equal(await service.exited, 1)
  holdsNone(t, service.stderr(), 'a process with a wrong setting')
  t.match(service.stderr(), /^One setting is missing or wrong:\n {2}EMAIL_TOKEN /)
  t.equal(service.stdout(), '')
})

t.test(
  'a start that waits for its database says why, never with which password, and can be told to give up',
  async t => {
    const sinks = await startSinks(t)
    const settings = { DATABASE_URL: `postgres://courier:${SMTP_PASSWORD}@127.0.0.1:1/x` }
    const service = spawnService(t, ['serve'], settingsOf(sinks, settings), { cwd: sinks.directory })
    const said = () => `${service.stdout()}\n${service.stderr()}`
    await until(() => said().includes('wait for the database'), 'it says that it waits')
    service.child.kill('SIGTERM')
    t.equal(await service.exited, 0)
    holdsNone(t, said(), 'a database that is not there')
  },
)
