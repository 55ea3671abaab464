import t from 'tap'
import { mailBody, type ServiceRig, shown, startRig, until } from '../rigs/service.ts'
import { createSmtpServer } from '../rigs/smtp-server.ts'

/** Each slips through nodemailer 10.6.0 when it is handed over as it came, or names a mailbox behind the server. */
const SMUGGLED = [
  'a@g.test\r\nRCPT TO:<e@evil.test>',
  'a@g.test\nRCPT TO:<e@evil.test>',
  'a@g.test>\r\nDATA\r\nSubject: x\r\n\r\nevil\r\n.\r\n',
  'a@g.test> SIZE=1\r\nRCPT TO:<e@evil.test',
  'a;b@g.test',
  'a@g.test;e@evil.test',
  'a@ⅇvil.test',
  'a@ｅvil.test',
  'a@evil。test',
  'friends: a@g.test, e@evil.test;',
  'friends:a@g.test;',
  '@relay.test:e@evil.test',
  '<@relay.test:e@evil.test>',
  '"e@evil.test"@g.test',
  'e%evil.test@g.test',
  'evil.test!e@g.test',
  '%@g.test',
  '"a b"@g.test',
  '"a\\"b"@g.test',
  '=?utf-8?q?e=40evil.test=3e?=@g.test',
  '=?utf-7?q?e&AEA-evil.test&ACA-?=@g.test',
  'a(c)@g.test',
  'a@g.test(c)',
  'a@(c)g.test',
  'Ann <e@evil.test>',
  '<e@evil.test>',
  'a@[192.0.2.1]',
  'a@[IPv6:2001:db8::1]',
  'a@192.0.2.1',
  'a@localhost',
  'a@g.test\0',
  'a@g.test\u2028e@evil.test',
  'a@g.test\u202e',
  'a\u0000b@g.test',
  'a@g..test',
  'a@-g.test',
  `${'a'.repeat(65)}@g.test`,
  `a@${'b'.repeat(63)}.${'b'.repeat(63)}.${'b'.repeat(63)}.${'b'.repeat(63)}.test`,
]

/** Every envelope that the mail server saw, by its own record of the commands. */
function envelopes(rig: ServiceRig): { readonly from: readonly string[]; readonly to: readonly string[] } {
  const commands = rig.smtp.connections.flatMap(({ commands }) => commands)
  const of = (verb: RegExp) => commands.filter(line => verb.test(line)).map(line => line.replace(verb, ''))
  return { from: of(/^MAIL FROM:/i), to: of(/^RCPT TO:/i) }
}

t.test('an address that is more than an address never becomes an envelope', async t => {
  const rig = await startRig(t)
  for (const to of SMUGGLED) {
    const answer = await rig.post('email', mailBody({ to }))
    t.equal(answer.errCode, 4002012, shown(to))
    t.equal(answer.status, 400)
    t.notMatch(answer.text, /evil|g\.test/, 'and is not repeated')
  }
  t.same(envelopes(rig), { from: [], to: [] }, 'the mail server heard of nobody')
})

t.test('beside good ones it is left out, and each good one has an envelope of its own', async t => {
  const rig = await startRig(t)
  const answer = await rig.post('email', mailBody({ to: `ann@example.com,${SMUGGLED[0]},bob@example.com` }))
  t.equal(answer.errCode, 0)
  t.equal(answer.errMsg, '1 of 3 recipients refused')
  t.same([...envelopes(rig).to].sort(), ['<ann@example.com>', '<bob@example.com>'])
  t.same(
    rig.smtp.mails.map(({ to }) => to.length),
    [1, 1],
  )
  for (const { data } of rig.smtp.mails) t.equal(data.toString().match(/^(to|cc|bcc):/gim)?.length, 1)
})

t.test('a setting opens the addresses that servers route by', async t => {
  const rig = await startRig(t, { ROUTED_ADDRESSES: 'on' })
  const to = ['e%evil.test@g.test', 'evil.test!e@g.test', '"a b"@g.test']
  for (const each of to) t.equal((await rig.post('email', mailBody({ to: each }))).errCode, 0, each)
  t.same(
    envelopes(rig).to,
    to.map(each => `<${each}>`),
  )
})

t.test(
  'an address beyond ASCII reaches a server that takes such, and else the answer says why not',
  async t => {
    const rig = await startRig(t)
    const refused = await rig.post('email', mailBody({ to: 'üser@example.com' }))
    t.match(refused, { errCode: 4002012, errMsg: /SMTPUTF8/ })
    t.notMatch(refused.text, /user|üser/)
    const taker = createSmtpServer({ smtpUtf8: true })
    const { port } = await taker.listen()
    t.teardown(() => taker.close())
    await rig.restart({ SMTP_URL: `smtp://127.0.0.1:${port}?ignoreTLS=true` })
    t.equal((await rig.post('email', mailBody({ to: 'ünal@example.com,Ann@example.com' }))).errCode, 0)
    t.same(taker.mails.map(({ data }) => /^To: (.*)\r$/m.exec(data.toString())?.[1] ?? '').sort(), [
      'Ann@example.com',
      'ünal@example.com',
    ])
  },
)

t.test(
  'an address that the server does not relay to raises no alarm and stops nobody; all of them do',
  async t => {
    const rig = await startRig(t, { ANSWER_WITHIN_MS: '300' })
    const denied = { is: 'say', reply: '554 5.7.1 relaying denied' } as const
    const alarms = () => rig.events().filter(({ level }) => Number(level) >= 50)
    rig.smtp.act = ({ step, line }) => (step === 'RCPT' && line.includes('@evil.test') ? denied : undefined)
    const code = (n: number) => ({ type: 3, url: undefined, code: `4711${n}` })
    for (let n = 0; n < 12; n += 1) {
      await rig.post('email', mailBody({ to: 'e@evil.test' }, code(n)))
      t.equal((await rig.post('email', mailBody({ to: `ann${n}@example.com` }, code(n)))).errCode, 0)
    }
    t.equal(rig.smtp.mails.length, 12)
    t.same(alarms(), [])
    rig.smtp.act = ({ step }) => (step === 'RCPT' ? denied : undefined)
    for (let n = 0; n < 4; n += 1) {
      await rig.post('email', mailBody({ to: `bob${n}@example.com` }, code(n)))
      await rig.post(
        'email',
        mailBody({ to: `bea${n}@example.com` }, { type: 5, url: undefined, code: `${n}` }),
      )
    }
    await until(() => alarms().length > 0, 'the operator is told')
    t.match(alarms()[0], { event: 'partial-fault', scope: 'carrier', code: '554 5.7.1' })
    rig.smtp.act = undefined
    t.equal((await rig.post('email', mailBody({ to: 'eve@example.com' }, code(99)))).errCode, 0)
    await until(() => rig.smtp.mails.length > 12, 'and whoever was not refused waits for nothing')
  },
)

t.test('names in other scripts are dialled by their A-labels', async t => {
  const rig = await startRig(t)
  t.equal((await rig.post('email', mailBody({ to: 'Ann.O-Neil+tag@Bücher.Example' }))).errCode, 0)
  t.same(envelopes(rig).to, ['<Ann.O-Neil+tag@xn--bcher-kva.example>'])
})

t.test('a subject cannot add a header', async t => {
  const rig = await startRig(t)
  for (const subject of [
    'x\r\nBcc: e@evil.test',
    'x\nBcc: e@evil.test',
    'x\rBcc: e@evil.test',
    'x\u2028Bcc: e@evil.test',
    'x\u2029y',
    'x\u0085y',
    'x\0y',
    'x\u001b[2Jy',
    'x\u202egnp.exe',
    'x\u2066y\u2069',
    '\ud800',
  ]) {
    const answer = await rig.post('email', mailBody({ subject }))
    t.equal(answer.errCode, 4002011, shown(subject))
    t.match(answer.errMsg, /^\/subject: /)
  }
  t.equal(rig.smtp.mails.length, 0)
  for (const subject of ['=?utf-8?B?eA0KQmNjOiBl?=', 'Bcc: e@evil.test', '.', 'a'.repeat(900), '你好 🌍'])
    t.equal((await rig.post('email', mailBody({ subject }))).errCode, 0, shown(subject.slice(0, 30)))
  for (const { data } of rig.smtp.mails) {
    const [head = ''] = data.toString().split('\r\n\r\n', 1)
    t.same(
      head
        .match(/^[\w-]+(?=:)/gm)
        ?.map(name => name.toLowerCase())
        .filter(name => ['bcc', 'cc', 'to', 'from', 'subject'].includes(name))
        .sort(),
      ['from', 'subject', 'to'],
    )
  }
})
