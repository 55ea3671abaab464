import t, { type Test } from 'tap'
import { Attempt } from '../../../src/providers/smtp/connection.ts'
import type { SmtpLimits } from '../../../src/providers/smtp/settings.ts'
import { createTestCertificate } from '../../rigs/certificate.ts'
import { until } from '../../rigs/service.ts'
import type { SmtpAct, SmtpServerOptions, SmtpStep } from '../../rigs/smtp-server.ts'
import { SHORT_SMTP } from '../short.ts'
import { DKIM, idOf, LOGIN, mail, openSmtp, startSmtp } from './rig.ts'

const certificate = await createTestCertificate()
const wrongName = await createTestCertificate({ name: 'other.example' })
const expired = await createTestCertificate({ notAfter: new Date(Date.now() - 86_400_000) })

const start = (t: Test, options: SmtpServerOptions, settings: Parameters<typeof startSmtp>[2] = {}) =>
  startSmtp(t, options, { tls: { ca: [certificate.cert, wrongName.cert, expired.cert] }, ...settings })

/** What an outcome must match, and how many messages the server has counted afterwards. */
type Row = readonly [step: SmtpStep, act: SmtpAct, outcome: Record<string, unknown>, accepted?: 1]

const say = (reply: string, close = false): SmtpAct => ({ is: 'say', reply, close })
const stall: SmtpAct = { is: 'stall' }
const drop: SmtpAct = { is: 'drop' }
const reset: SmtpAct = { is: 'drop', reset: true }
const later = { is: 'retry', whose: 'later' }
const ours = { is: 'retry', whose: 'ours' }
const untouched = { untouched: true }
const ambiguous = { is: 'ambiguous' }

/** Everything that can go wrong on a new connection, step by step, and what it is. */
const ROWS: readonly Row[] = [
  ['greeting', say('421 4.3.2 not now', true), { ...later, ...untouched, code: '421 4.3.2' }],
  ['greeting', say('554 5.3.2 no service', true), { ...ours, ...untouched }],
  ['greeting', stall, { ...later, ...untouched }],
  ['greeting', drop, { ...later, ...untouched }],
  ['greeting', reset, { ...later, ...untouched }],
  ['EHLO', say('421 4.3.2 not now', true), { ...later, ...untouched }],
  ['EHLO', stall, { ...later, ...untouched }],
  ['EHLO', drop, { ...later, ...untouched }],
  ['STARTTLS', say('454 4.7.0 TLS not available'), { is: 'retry', ...untouched }],
  ['STARTTLS', stall, { ...later, ...untouched }],
  ['STARTTLS', drop, { ...later, ...untouched }],
  ['STARTTLS', say('220 go ahead, and then no TLS'), { ...later, ...untouched }],
  ['AUTH', say('535 5.7.8 wrong'), { ...ours, ...untouched, code: '535 5.7.8' }],
  ['AUTH', say('454 4.7.0 login is broken'), { ...ours, ...untouched }],
  ['AUTH', say('421 4.3.2 not now', true), { ...later, ...untouched }],
  ['AUTH', stall, { ...later, ...untouched }],
  ['AUTH', drop, { ...later, ...untouched }],
  ['MAIL', say('550 5.7.1 not your address'), ours],
  ['MAIL', say('452 4.3.1 full'), later],
  ['MAIL', say('421 4.3.2 not now', true), later],
  ['MAIL', stall, later],
  ['MAIL', drop, later],
  ['MAIL', reset, later],
  ['RCPT', say('550 5.1.1 no such user'), { is: 'rejected', scope: 'recipient', code: '550 5.1.1' }],
  ['RCPT', say('550 no such user'), { is: 'rejected', scope: 'recipient', code: '550' }],
  ['RCPT', say('554 5.7.1 relaying denied'), ours],
  ['RCPT', say('450 4.2.0 greylisted'), later],
  ['RCPT', say('421 4.3.2 not now', true), later],
  ['RCPT', stall, later],
  ['RCPT', drop, later],
  ['RCPT', reset, later],
  ['DATA', say('451 4.3.0 not now'), later],
  ['DATA', say('554 5.5.1 no'), ours],
  ['DATA', stall, later],
  ['DATA', drop, later],
  ['DATA', reset, later],
  ['dot', say('554 5.6.0 spam'), { is: 'rejected', scope: 'message', code: '554 5.6.0' }],
  ['dot', say('550 5.1.1 no such user'), { is: 'rejected', scope: 'recipient' }],
  ['dot', say('451 4.3.0 not now'), later],
  ['dot', say('421 4.3.2 not now', true), later],
  ['dot', stall, ambiguous],
  ['dot', { is: 'stall', accept: true }, ambiguous, 1],
  ['dot', drop, ambiguous],
  ['dot', { is: 'drop', accept: true }, ambiguous, 1],
  ['dot', { is: 'drop', accept: true, reset: true }, ambiguous, 1],
]

// Most of these wait for a limit, so they wait together.
t.jobs = 8
const WIRES = {
  'STARTTLS, PIPELINING': { certificate },
  'STARTTLS, no PIPELINING': { certificate, pipelining: false },
  'plain, PIPELINING': {},
  'plain, no PIPELINING': { pipelining: false },
}
for (const [wire, options] of Object.entries(WIRES))
  void t.test(`each fault at each step: ${wire}`, { buffered: true }, async t => {
    t.jobs = 8
    const rows = ROWS.filter(([step]) => step !== 'STARTTLS' || wire.startsWith('STARTTLS'))
    await Promise.all(
      rows.map(async ([step, act, expected, accepted = 0]) =>
        t.test(`${step}: ${JSON.stringify(act)}`, { buffered: true }, async t => {
          const { server, send } = await start(t, { ...options, login: LOGIN })
          server.act = moment => (moment.step === step ? act : undefined)
          const outcome = await send()
          t.match(outcome, expected)
          t.equal('untouched' in outcome, 'untouched' in expected, 'untouched or not')
          t.equal(server.mails.length, accepted)
          server.act = undefined
          t.match(await send(), { is: 'sent' }, 'the next message goes out')
          await until(() => server.openConnections() === 1, 'what failed is hung up')
          const ids = new Set(server.mails.map(({ wire }) => idOf(wire)))
          t.equal(ids.size, accepted + 1, 'and nothing went out twice')
        }),
      ),
    )
  })

await t.test('wrong certificates are named and ours to mend', async t => {
  for (const [secure, made, words] of [
    [false, wrongName, /certificate was not accepted.*altnames/],
    [true, wrongName, /certificate was not accepted.*altnames/],
    [false, expired, /certificate was not accepted.*expired/],
    [true, expired, /certificate was not accepted.*expired/],
  ] as const) {
    const { server, provider, send } = await start(t, { certificate: made, secure, login: LOGIN })
    t.match(await send(), { is: 'retry', whose: 'ours', reply: words, untouched: true })
    t.match(await provider.verify(), { ok: false, detail: words })
    t.notMatch(Buffer.concat(server.connections.flatMap(({ bytes }) => bytes)).toString(), /AUTH|MAIL/)
  }
  const { send } = await start(t, { certificate }, { tls: {} })
  t.match(await send(), { is: 'retry', whose: 'ours', reply: /certificate was not accepted.*self-signed/ })
})

await t.test('a password is not sent to a server that takes none', async t => {
  for (const [logins, expected] of [
    [
      'AUTH SCRAM-SHA-256 GSSAPI',
      { is: 'retry', whose: 'ours', reply: /it offers SCRAM-SHA-256, GSSAPI$/, untouched: true },
    ],
    ['AUTH=XOAUTH2', { is: 'retry', whose: 'ours', code: 'no-password-login', reply: /it offers XOAUTH2$/ }],
    ['AUTH SCRAM-SHA-256 PLAIN', { is: 'sent' }],
    ['AUTH=LOGIN', { is: 'sent' }],
    ['AUTH ', { is: 'sent' }],
  ] as const) {
    const { server, provider, send } = await start(t, { login: LOGIN })
    server.act = ({ step }) => (step === 'EHLO' ? say(`250-rig\r\n250-${logins}\r\n250 8BITMIME`) : undefined)
    t.match(await send(), expected, logins)
    if (expected.is === 'sent') continue
    t.match(await provider.verify(), {
      ok: false,
      detail: /^the mail server takes a password in no way that we have; it offers [^()]*$/,
      next: /PLAIN or LOGIN/,
    })
    const said = server.connections.flatMap(({ commands }) => commands)
    t.notOk(said.some(line => /^(?:AUTH|MAIL)/.test(line)))
  }
})

await t.test('a name that does not resolve and a closed port are for later', async t => {
  for (const [url, code] of [
    ['smtp://no-such-host.invalid', /ENOTFOUND|EAI_AGAIN|ETIMEDOUT/],
    ['smtp://127.0.0.1:1', /ECONNREFUSED/],
  ] as const) {
    const provider = openSmtp({ url })
    t.teardown(async () => provider.close())
    const outcome = await provider.send(mail(), new AbortController().signal)
    t.match(outcome, { is: 'retry', whose: 'later', untouched: true, code })
  }
})

/** What only these would end does not end. */
const HOURS: SmtpLimits = {
  connectMs: 3_600_000,
  greetingMs: 3_600_000,
  commandMs: 3_600_000,
  replyMs: 3_600_000,
  idleMs: 3_600_000,
}

void t.test('a probe goes as far as EHLO, and waits for no one', { buffered: true }, async t => {
  for (const [step, act, found] of [
    ['AUTH', drop, 'up'],
    ['greeting', stall, 'down'],
    ['greeting', say('421 4.3.2 closing', true), 'down'],
    ['STARTTLS', drop, 'down'],
    ['EHLO', { is: 'trickle', ms: 50 }, 'down'],
  ] as const) {
    const { server, provider } = await start(t, { login: LOGIN, certificate }, { limits: HOURS })
    server.act = moment => (moment.step === step ? act : undefined)
    t.equal(await provider.probe?.(), found, `${step}: ${JSON.stringify(act)}`)
    t.notMatch(server.connections.flatMap(each => each.commands).join('\n'), /^(AUTH|MAIL)/m)
  }
  const { provider } = await start(t, { certificate: wrongName })
  t.equal(await provider.probe?.(), 'down', 'a certificate of another name')
})

await t.test('a session whose login or whose reset is refused is hung up, not left to a limit', async t => {
  for (const reply of ['535 5.7.8 wrong', '454 4.7.0 login is broken']) {
    const { server, send } = await start(t, { login: LOGIN }, { limits: HOURS })
    server.act = ({ step }) => (step === 'AUTH' ? say(reply) : undefined)
    t.match(await send(), { is: 'retry', untouched: true })
    await until(() => server.openConnections() === 0, 'a refused login is hung up')
  }
  const { server, send } = await start(t, {}, { limits: HOURS })
  server.act = ({ step }) =>
    step === 'RCPT' || step === 'RSET' ? say(step === 'RCPT' ? '550 5.1.1 no' : '502 5.5.1 no') : undefined
  t.match(await send(), { is: 'rejected' })
  await until(() => server.openConnections() === 0, 'a refused reset is hung up')
  server.act = undefined
  t.match(await send(), { is: 'sent' }, 'over another connection')
  t.equal(server.connections.length, 2)
})

await t.test('a connection that the server closed while idle is replaced silently', async t => {
  const { server, send } = await start(t, { certificate, login: LOGIN })
  await send()
  for (const [i, close] of [
    (): void => server.connections.at(-1)?.end(),
    (): void => server.connections.at(-1)?.end('reset'),
    (): void => {
      server.connections.at(-1)?.say('421 4.4.2 idle for too long')
      server.connections.at(-1)?.end()
    },
  ].entries()) {
    close()
    await until(() => server.openConnections() === 0, 'it is closed')
    t.match(await send(), { is: 'sent' })
    t.equal(server.connections.length, i + 2)
  }
  t.equal(server.mails.length, 4)
})

await t.test(
  'a connection that closes just as a message begins is replaced, and nothing is sent twice',
  async t => {
    for (const [step, act] of [
      ['MAIL', drop],
      ['RCPT', drop],
      ['DATA', drop],
      ['DATA', say('421 4.4.2 idle for too long')],
    ] as const) {
      const { server, provider, send } = await start(t, {}, { dkim: DKIM })
      await send()
      server.act = moment => (moment.connection === 1 && moment.step === step ? act : undefined)
      let handedOver = 0
      const { signal } = new AbortController()
      t.match(await provider.send(mail(), signal, () => (handedOver += 1)), { is: 'sent' })
      t.equal(handedOver, 1)
      t.match(server.mails[1]?.data.toString(), /^DKIM-Signature: /)
      t.equal(server.mails.length, 2)
      t.equal(server.connections.length, 2)
    }
    const { server, send } = await start(t, {})
    await send()
    server.act = ({ step }) => (step === 'dot' ? { is: 'drop', accept: true } : undefined)
    t.match(await send(), { is: 'ambiguous' }, 'but not when it has the whole message')
    t.same([server.mails.length, server.connections.length], [2, 1])
  },
)

void t.test('a connection that died quietly costs one command limit', { buffered: true }, async t => {
  const { server, send } = await start(t, { certificate, login: LOGIN })
  await send()
  server.act = moment => (moment.connection === 1 ? { is: 'stall' } : undefined)
  t.match(await send(), { is: 'retry', whose: 'later', code: 'command-limit' })
  t.match(await send(), { is: 'sent' }, 'over a new connection')
  t.equal(server.connections.length, 2)
})

await t.test('a connection that nobody needs for a while says goodbye and is closed', async t => {
  for (const options of [{}, { certificate }]) {
    const { server, send } = await start(t, options, { limits: { ...SHORT_SMTP, idleMs: 100 } })
    server.act = ({ step }) => (step === 'dot' ? { is: 'wait', ms: 200 } : undefined)
    t.match(await send(), { is: 'sent' }, 'a slow answer is no idleness')
    t.equal(server.openConnections(), 1)
    await until(() => server.openConnections() === 0, 'it is closed')
    t.equal(server.connections[0]?.commands.at(-1), 'QUIT')
    t.match(await send(), { is: 'sent' })
    t.equal(server.connections.length, 2)
  }
})

void t.test('the limit on connecting ends with it', { buffered: true }, async t => {
  const { server, send } = await start(t, {}, { limits: { ...SHORT_SMTP, connectMs: 2_000 } })
  await send()
  await new Promise(resolve => setTimeout(resolve, 2_200))
  await send()
  t.same([server.mails.length, server.connections.length], [2, 1])
})

/** Half of a command's limit is not reached by itself on a busy machine. */
const QUICK: SmtpLimits = { ...SHORT_SMTP, commandMs: 2_000, replyMs: 6_000 }

void t.test('a slow server has the limit for each command, not for all', { buffered: true }, async t => {
  const { server, send } = await start(t, { certificate, login: LOGIN, pipelining: false }, { limits: QUICK })
  await send()
  server.act = ({ step }) => (step === 'dot' ? undefined : { is: 'wait', ms: 1_000 })
  t.match(await send(), { is: 'sent' }, 'MAIL, RCPT and DATA, a second each')
})

void t.test('a reply byte by byte does not go on forever', { buffered: true }, async t => {
  for (const step of ['MAIL', 'dot'] as const) {
    const { server, send } = await start(t, { pipelining: false }, { limits: QUICK })
    await send()
    const act: SmtpAct = step === 'dot' ? { is: 'trickle', ms: 300 } : say('250-go on')
    server.act = moment => (moment.step === step ? act : undefined)
    if (step === 'MAIL') {
      const chatter = setInterval(() => server.connections.at(-1)?.say('250-and on'), 50)
      t.teardown(() => clearInterval(chatter))
      t.match(await send(), { is: 'retry', code: 'dialogue-limit' })
      clearInterval(chatter)
    } else t.match(await send(), { is: 'ambiguous', code: 'reply-limit' })
  }
})

void t.test('the reply after the dot has its own, longer limit', { buffered: true }, async t => {
  const { server, send } = await start(t, { certificate, login: LOGIN }, { limits: QUICK })
  server.act = ({ step }) => (step === 'dot' ? { is: 'wait', ms: 3_000 } : undefined)
  t.match(await send(), { is: 'sent' }, 'silent for longer than a command may be')
  server.act = ({ step }) => (step === 'dot' ? { is: 'stall' } : undefined)
  t.match(await send(), { is: 'ambiguous', code: 'reply-limit' })
})

await t.test('aborted in the dialogue: to be tried again, and nothing arrives', async t => {
  for (const step of ['MAIL', 'RCPT', 'DATA'] as const) {
    const { server, provider } = await start(t, { pipelining: false })
    const controller = new AbortController()
    server.act = moment => {
      if (moment.step !== step) return
      setTimeout(() => controller.abort(), 20)
      return stall
    }
    const outcome = await provider.send(mail(), controller.signal)
    t.match(outcome, { is: 'retry', code: 'aborted' })
    t.notOk('untouched' in outcome)
    t.equal(server.mails.length, 0)
  }
})

await t.test(
  'aborted while a connection is opened: it is gone at once, and the next is another one',
  async t => {
    for (const step of ['greeting', 'EHLO', 'STARTTLS', 'AUTH'] as const) {
      const limits = { ...SHORT_SMTP, greetingMs: 60_000, commandMs: 60_000 }
      const { server, provider, send } = await start(t, { certificate, login: LOGIN }, { limits })
      const controller = new AbortController()
      const reached = Promise.withResolvers<void>()
      server.act = moment => {
        if (moment.step !== step) return
        reached.resolve()
        return stall
      }
      const outcome = provider.send(mail(), controller.signal)
      await reached.promise
      controller.abort()
      t.match(await outcome, { is: 'retry', code: 'aborted', untouched: true })
      await until(() => server.openConnections() === 0, 'it is gone')
      server.act = undefined
      t.match(await send(), { is: 'sent' })
      t.equal(server.connections.length, 2)
    }
  },
)

await t.test('whatever takes its time before the dot, the longest attempt is bounded', async t => {
  const attempt = new Attempt({ ...SHORT_SMTP, connectMs: 10, greetingMs: 10, commandMs: 20 })
  const timers = t.capture(globalThis, 'setTimeout', setTimeout)
  attempt.setTimeLimit('dialogue-limit', 3_600_000)
  t.ok(Number(timers()[0]?.args[1]) <= 100, 'set up once, and three commands')
  timers.restore()
  await t.rejects(attempt.unlessStopped(new Promise(() => {})))
  attempt.stop('closed')
  t.equal(attempt.stopped, 'dialogue-limit', 'the first reason counts')
})

await t.test('a connection too many says how many were taken', async t => {
  const { server, provider } = await start(t, { maxConnections: 2 }, { connections: 4 })
  const aborted = new AbortController()
  server.act = () => {
    aborted.abort()
    return stall
  }
  t.match(await provider.send(mail(), aborted.signal), { code: 'aborted' }, 'which is none that is opened')
  await until(() => server.openConnections() === 0, 'it is gone')
  const send = () => provider.send(mail(), new AbortController().signal)
  server.act = ({ step }) => (step === 'dot' ? { is: 'wait', ms: 300 } : undefined)
  const first = [send(), send()]
  await until(() => server.connections.filter(each => each.commands.includes('DATA')).length === 2, 'both')
  t.match(await send(), { is: 'retry', untouched: true, overload: 'connections', accepted: 2 })
  t.match(await Promise.all(first), [{ is: 'sent' }, { is: 'sent' }])
  server.act = undefined
  t.match(await Promise.all([send(), send()]), [{ is: 'sent' }, { is: 'sent' }])
  t.equal(server.connections.length, 4, 'the one too many was opened once')
})
