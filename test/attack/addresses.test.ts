import t from 'tap'
import { mailBody, type ServiceRig, shown, startRig } from '../rigs/service.ts'
import { createSmtpServer } from '../rigs/smtp-server.ts'

/** Some of each kind: they slip through nodemailer 10.6.0 when they are handed over as they came, or name a mailbox behind the server. */
const SMUGGLED = [
  'a@g.test\r\nRCPT TO:<e@evil.test>',
  'a@g.test>\r\nDATA\r\nSubject: x\r\n\r\nevil\r\n.\r\n',
  'a@ⅇvil.test',
  'friends: a@g.test, e@evil.test;',
  '@relay.test:e@evil.test',
  '"e@evil.test"@g.test',
  'e%evil.test@g.test',
  '=?utf-7?q?e&AEA-evil.test&ACA-?=@g.test',
  'a@g.test\0',
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
