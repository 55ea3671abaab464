import t from 'tap'
import { createClient, tryMailbox } from '../../src/bounces/mailbox.ts'
import { quote } from '../../src/language/sentence.ts'
import { lookUpName } from '../../src/runtime/name-lookup.ts'
import { type Act, startImap } from '../rigs/imap-server.ts'
import { until } from '../rigs/service.ts'
import { startMailbox } from './mailbox-rig.ts'

const REPORT = 'Content-Type: multipart/report; report-type=delivery-status\r\n\r\n'

t.test('without a password it logs in with an access token, and says so when there is none', async t => {
  const { port, commands } = await startImap(t)
  let isClosed = false
  const close = async () => {
    isClosed = true
  }
  const { mailbox, events } = startMailbox(t, port, {
    tokens: { getToken: async () => ({ token: 'canary-token' }), close },
  })
  await until(() => events.length > 0, 'it is open')
  t.match(events, [{ type: 'bounce-mailbox', is: 'open' }])
  const login = commands.find(line => line.includes('XOAUTH2')) ?? ''
  t.match(
    Buffer.from(login.split(' ').at(-1) ?? '', 'base64').toString(),
    'user=ann\x01auth=Bearer canary-token\x01\x01',
  )
  t.match(mailbox.status(), { leads: true, failing: null })
  await mailbox.stop()
  t.ok(isClosed)

  const without = startMailbox(t, port, {
    tokens: { getToken: async () => ({ whose: 'ours', reply: quote('invalid_grant') }), close },
  })
  await until(() => without.events.length > 0, 'it is said')
  t.match(without.events, [{ is: 'failed', reason: { text: 'invalid_grant' } }])
  t.match(without.mailbox.status().failing, { reason: { text: 'invalid_grant' } })
  const pauses = () => without.rests.filter(ms => ms >= 2000)
  await until(() => pauses().length >= 7, 'it is asked for again')
  t.same(
    pauses().slice(0, 7),
    [2000, 4000, 8000, 16_000, 32_000, 48_000, 48_000],
    'once a minute: repeated logins lock accounts',
  )
  await without.mailbox.stop()
  without.mailbox.start()
  t.equal(
    without.mailbox.status().failing,
    null,
    'it begins anew, as when another replica has read meanwhile',
  )
})

t.test('whatever a server does, it is one line of the log, without what we are known by', async t => {
  const acts: Readonly<Record<string, (verb: string, tag: string) => string | undefined>> = {
    'refuses the login': (verb, tag) =>
      verb === 'AUTHENTICATE' || verb === 'LOGIN' ? `${tag} NO canary-password is wrong\r\n` : undefined,
    'has no such mailbox': (verb, tag) =>
      verb === 'SELECT'
        ? `${tag} NO no canary-password\r\n`
        : verb === 'LIST'
          ? `${tag} OK done\r\n`
          : undefined,
    'says goodbye': verb => (verb === 'GREETING' ? '* BYE canary-password\r\n' : undefined),
    'speaks no IMAP': verb => (verb === 'GREETING' ? `${'canary-password'.repeat(1000)}\r\n` : undefined),
    'floods us': verb => (verb === 'GREETING' ? '* OK hello\r\n' : `* OK ${'x'.repeat(6_000_000)}`),
  }
  for (const [name, act] of Object.entries(acts)) {
    const { port } = await startImap(t, [], act)
    const { mailbox, events } = startMailbox(t, port)
    await until(() => events.some(({ is }) => is === 'failed'), name)
    t.notMatch(JSON.stringify(events), 'canary', name)
    t.comment(name, JSON.stringify(events))
    await mailbox.stop()
  }
})

t.test('a folder that is open and cannot be read is said neither to be closed nor to be read', async t => {
  const refused = 'the server refuses to open or to read the folder'
  const refusals = [
    ['FETCH', '{tag} NO x', refused],
    ['SEARCH', '{tag} NO x', refused],
    ['FETCH', 'NO x', 'MissingTag'],
    ['FETCH', '* BYE x', 'the connection ended before the answer did'],
  ] as const
  for (const [verb, answer, reason] of refusals) {
    const { port } = await startImap(t, [[1, REPORT]], (said, tag) =>
      said === verb ? `${answer.replace('{tag}', tag)}\r\n` : undefined,
    )
    const { mailbox, events } = startMailbox(t, port)
    await until(() => events.length > 0, answer)
    await mailbox.stop()
    t.match(JSON.parse(JSON.stringify(events[0])), { is: 'failed', reason })
  }
})

t.test('a mail server has so long for each step, and may say so much at once', async t => {
  const address = { host: 'mail.example.com', port: 143, secure: false, startTls: true, mailbox: 'INBOX' }
  const { options } = (await createClient({
    address: { ...address, user: 'ann', pass: 'p' },
  })) as unknown as {
    readonly options: object
  }
  t.match(options, {
    connectionTimeout: 15_000,
    greetingTimeout: 10_000,
    socketTimeout: 120_000,
    host: 'mail.example.com',
    port: 143,
    secure: false,
    doSTARTTLS: true,
    auth: { user: 'ann', pass: 'p' },
    logger: false,
    tls: { lookup: lookUpName },
    maxIdleTime: 60_000,
    maxLineLength: 4_194_304,
    maxLiteralSize: 4_194_304,
    maxResponseSize: 8_388_608,
  })
})

t.test('it is tried without reading it, and a sentence says what is wrong', async t => {
  const no = (verb: string) => (said: string, tag: string) => (said === verb ? `${tag} NO x\r\n` : undefined)
  const hangUp = (said: string) => (said === 'GREETING' ? '* BYE\r\n' : undefined)
  const given = {
    host: '127.0.0.1',
    secure: false,
    startTls: false,
    user: 'ann',
    pass: 'p',
    mailbox: 'INBOX',
  }
  const say = async (act: Act, more: Partial<typeof given> = {}) => {
    const { port, commands, connections } = await startImap(t, [], act)
    const fault = await tryMailbox({ address: { ...given, ...more, port } })
    await until(() => connections() === 0, 'it hangs up')
    t.notMatch(commands.join(), /SELECT|STORE|MOVE|FETCH/)
    if (more.startTls === true) t.notMatch(commands.join(), /LOGIN|AUTHENTICATE/, 'no password without TLS')
    return fault
  }
  t.equal(await say(() => undefined), null)
  t.match(await say(no('AUTHENTICATE')), { what: 'the login is refused', next: /user, password/ })
  t.match(await say(no('EXAMINE')), {
    what: 'the server refuses to open or to read the folder',
    next: /folder/,
  })
  t.match(await say(() => undefined, { startTls: true }), {
    what: 'the server offers no TLS',
    next: 'look at host and port in BOUNCE_IMAP_URL',
  })
  t.match(await say(() => undefined, { secure: true }), { what: /does not speak TLS from the first byte/ })
  const flood = (said: string) => (said === 'GREETING' ? undefined : `* OK ${'x'.repeat(6_000_000)}`)
  t.match(await say(flood), { what: /./ })
  t.match(await say(hangUp), { what: /takes the connection, and hangs up/ })
})

t.test('the end of the process waits neither for a mail server nor for a token that do not come', async t => {
  const silent = await startImap(t, [], () => '')
  const { mailbox } = startMailbox(t, silent.port)
  await until(() => silent.connections() > 0, 'it connects')
  // A connection that is being made is given up.
  await mailbox.stop()

  const { port, connections } = await startImap(t)
  const token = Promise.withResolvers<{ token: string }>()
  let asked = 0
  const asking = startMailbox(t, port, {
    tokens: {
      getToken() {
        asked += 1
        return token.promise
      },
      close: async () => token.resolve({ token: 'canary-token' }),
    },
  })
  await until(() => asked > 0, 'it asks')
  await asking.mailbox.stop()
  t.equal(connections(), 0, 'nobody is connected to any more')
  t.same(asking.events, [])
})
