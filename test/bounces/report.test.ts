import { readFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { faultOf } from '../../src/bounces/codes.ts'
import { readBounces } from '../../src/bounces/report.ts'
import { bounceKeys, createBounceReader } from '../../src/bounces/source.ts'
import { anyCharacter } from '../fixtures/arbitraries.ts'
import { complaint, compose, FORMS, GAVE_UP, type Returned } from './forms.ts'

const ID = '019a9f3c5d80e1f2a3b4c5d6e7f80912'
const TO = 'Ann.Lee@example.net'
const given: Returned = { id: ID, to: TO, status: '5.1.1' }
const read = async (text: string) =>
  readBounces(Buffer.from(text, 'latin1')).map(({ id, recipients, code }) => ({ id, recipients, code }))

/** What 163 and Exim leave out of the status stands in the server's reply; QQ's replies have no enhanced code. */
t.test('a hundred reports of eight senders, of every class', async t => {
  const forGood = ['5.1.1', '5.1.2', '5.1.10', '5.2.1', '5.2.2', '5.7.1', '5.7.26', '5.1.8', '5.0.0']
  const queueGaveUp = ['4.4.7', '4.4.1', '4.7.1', '4.2.2', '4.0.0']
  let count = 0
  for (const [name, form] of Object.entries(FORMS)) {
    for (const status of [...forGood, ...queueGaveUp]) {
      count += 1
      t.same(
        await read(form({ ...given, status })),
        [{ id: ID, recipients: name === 'postfix' ? [TO, TO] : [TO], code: status }],
        `${name} ${status}`,
      )
    }
  }
  t.ok(count >= 100, String(count))
})

t.test('what is late, relayed or delivered, and what is no report, says nothing', async t => {
  for (const [name, form] of Object.entries(FORMS)) {
    t.same(await read(form({ ...given, status: '2.0.0' })), [], name)
    for (const action of ['delayed', 'delivered', 'relayed', 'expanded', ''])
      t.same(await read(form({ ...given, action })), [], `${name} ${action}`)
    const text = form(given)
    t.same(await read(text.replace('multipart/report', 'multipart/mixed')), [], `${name}: no report`)
    t.same(await read(text.replaceAll(ID, 'f'.repeat(31))), [], `${name}: no id of ours`)
    const quoted = text.replace(/^/gm, '> ')
    t.same(
      await read(
        `Subject: Out of office\r\nAuto-Submitted: auto-replied\r\nIn-Reply-To: <${ID}@courier.example>\r\n\r\n550 5.1.1 <${TO}> ${quoted}`,
      ),
      [],
      `${name}: an answer that quotes one`,
    )
    t.same(
      await read(
        compose({
          boundary: 'the-outer-one',
          reportType: 'disposition-notification',
          human: 'see below',
          parts: [`Content-Type: message/rfc822\r\n\r\n${text}`],
        }),
      ),
      [],
      `${name}: one that is passed on`,
    )
  }
})

t.test('each field missing once: what names no mail, recipient, action or code says nothing', async t => {
  const form = FORMS['postfix']
  const lines = form(given).split('\r\n')
  const needed = /^(Action|Status|Content-Type: (multipart|message))/
  for (const [at, line] of lines.entries()) {
    const left = lines.toSpliced(at, 1).join('\r\n')
    const got = await read(left)
    t.ok(
      got.every(each => each.id === ID && each.recipients.every(to => to === TO) && each.code === '5.1.1'),
      line,
    )
    if (needed.test(line) && !line.startsWith('Status')) t.same(got, [], line)
  }
  const without = (...patterns: readonly RegExp[]) =>
    read(lines.filter(line => !patterns.some(pattern => pattern.test(line))).join('\r\n'))
  t.same(await without(/^(Final|Original)-Recipient/), [])
  t.same(await without(/^Status/, /^Diagnostic-Code/), [])
  t.match(await without(/^Status/), [{ code: '5.1.1' }])
  t.same(await without(/^Original-Envelope-Id/, /^X-Callback-Courier/, /^Message-ID/), [])
  const m365 = FORMS['microsoft 365'](given).replace(/Content-Type: text\/rfc822-headers[^]*?--=_/, '--=_')
  t.match(await read(m365.replace('--=_report_1f3870be\r\n--=_', '--=_')), [{ id: ID }], 'by what it answers')
})

t.test('a field whose value begins in the next line, as of long names and ids', async t => {
  const folded = /^(Content-Type|Message-ID|In-Reply-To|Action|Status|(?:Original|Final)-Recipient): /gm
  for (const [name, form] of Object.entries(FORMS)) {
    const text = form(given)
    for (const end of ['\r\n ', '\n\t', '\r\r\n '])
      t.same(await read(text.replace(folded, `$1:${end}`)), await read(text), name)
  }
  t.same(await read(complaint(given).replace(folded, '$1:\r\n ')), await read(complaint(given)))
  const split = FORMS['postfix'](given).replace('report-type=', '\r report-type=')
  t.match(await read(split), [{ id: ID }], 'a stray carriage return')
})

t.test('whose fault it is that a mail came back', async t => {
  for (const [verdict, scope, codes] of [
    ['recipient', 'recipient', '5.1.1 5.1.2 5.1.3 5.1.6 5.1.10 5.2.1'],
    ['ours', 'sender', '5.1.7 5.1.8'],
    ['ours', 'message', '5.7.1 5.7.26 4.7.1 4.7.0 complaint'],
    // Full, and no reason to leave an address out.
    ['limit', 'recipient', '5.2.2 4.2.2'],
    ['later', 'recipient', '4.4.1 4.4.7'],
  ] as const)
    for (const code of codes.split(' ')) t.match(faultOf(code), { verdict, scope }, code)
  for (const code of ['5.0.0', '4.0.0', '5.1.0', '5.3.4', '5.4.4', '5.71.1', '4.1.1'])
    t.equal(faultOf(code), undefined, code)
})

t.test(
  'the words of the server that did not take it are kept, without the address, links and codes',
  async t => {
    const readReport = createBounceReader(
      task => task(),
      address => address,
    )
    const replyTo = async (text: string) => (await readReport(Buffer.from(text, 'latin1')))[0]?.reply
    const replies: Record<string, string | undefined> = {}
    for (const [name, form] of Object.entries(FORMS)) replies[name] = await replyTo(form(given))
    t.same(replies, {
      postfix: '550 5.1.1 <recipient>: Recipient` address rejected (in reply to RCPT TO command)',
      exim: '550 5.1.1 No such user here 550 5.1.1 see the help',
      'microsoft 365': '550 5.1.1 RESOLVER.ADR.RecipientNotFound; Recipient not found',
      gmail: '550 5.1.1 The email account that you tried to reach does not exist. 550 5.1.1 <link> … - gsmtp',
      ses: '550 5.1.1 user unknown',
      qq: 'host … said: 550 Mailbox not found. <link>',
      163: 'SMTP error, RCPT TO: 550 5.1.1 User not found: <recipient>',
      aliyun: '550 5.1.1 Mailbox not found',
    })
    const ofQueues = Object.entries(GAVE_UP).map(async ([name, form]) => {
      const [{ errorCode, reply } = {}] = await readReport(Buffer.from(form(given), 'latin1'))
      return [name, [errorCode, reply]]
    })
    t.same(Object.fromEntries(await Promise.all(ofQueues)), {
      'postfix gave up': ['4.4.1', 'connect to mx.example.net[…]:25: Connection timed out'],
      'exim gave up': ['5.0.0', undefined],
      'microsoft 365 gave up': ['4.4.7', '550 4.4.7 QUEUE.Expired; message expired'],
      'gmail gave up': [
        '4.4.1',
        'The recipient server did not accept our requests to connect. Learn more at <link> [mx.example.net. …: timed out]',
      ],
    })
    const said = (words: string) => replyTo(FORMS['ses']({ ...given, words }))
    t.equal(
      await said('DT:SPM 163 smtp,your code 481516 is here'),
      '550 5.1.1 DT:SPM 163 smtp,your code … is here',
    )
    t.equal(await said('=?gb18030?B?08rP5NLRwvo=?= =?utf-8?q?_=E6=BB=A1_?='), '550 5.1.1 邮箱已满 满')
    t.equal(await said('=?no-charset?B?08rP5NLRwvo=?='), '550 5.1.1 …')
  },
)

t.test('a report is read when its turn comes, and not before', async t => {
  const turns: (() => void)[] = []
  let asked = 0
  const readReport = createBounceReader(
    task => void turns.push(task),
    address => {
      asked += 1
      return address.toUpperCase()
    },
  )
  const text = Buffer.from(FORMS['qq'](given))
  const waiting = Promise.all([readReport(text), readReport(text)])
  while (turns.length < 2) await turn()
  t.equal(asked, 0)
  turns.shift()?.()
  t.equal(asked, 1, 'one at a time')
  turns.shift()?.()
  t.match(await waiting, [[{ id: ID, recipients: ['ANN.LEE@EXAMPLE.NET'] }], [{ id: ID }]])
})

t.test('the URL for mails that came back stays good while a Token is replaced', async t => {
  const keysOf = (EMAIL_TOKEN?: string, EMAIL_TOKEN_PREVIOUS?: string) =>
    bounceKeys({ EMAIL_TOKEN, EMAIL_TOKEN_PREVIOUS })
  t.same(keysOf(), [])
  t.same(keysOf('new token', 'old token'), [...keysOf('new token'), ...keysOf('old token')])
  t.notSame(keysOf('new token'), keysOf('old token'))
})

t.test('what is read of a report or a complaint that is a little different', async t => {
  const edits = readFileSync(new URL('../fixtures/bounces/edits.txt', import.meta.url), 'utf8')
  const forms: Readonly<Record<string, string>> = {
    report: FORMS['postfix'](given),
    complaint: complaint(given),
  }
  for (const each of edits.trimEnd().split('\n')) {
    const [form, replaced, expected] = each.split(' ⇒ ')
    const text = (JSON.parse(replaced ?? '') as readonly [string, string][]).reduce(
      (whole, [from, to]) => whole.replace(new RegExp(from, 'gs'), to),
      forms[form ?? ''] ?? '',
    )
    t.equal(JSON.stringify(readBounces(Buffer.from(text, 'latin1'))), expected, each)
  }
})

t.test('a hundred recipients of a report are read', async t => {
  const text = FORMS['postfix'](given)
  const group = `Final-Recipient: rfc822; ${TO}\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n`
  const many = text.replace('Final-Recipient', `${group.repeat(120)}Final-Recipient`)
  t.equal((await read(many)).length, 99, 'with the group about the mail itself, and the head of the part')
})

t.test('twenty parts of a report are looked at, and 64 KiB of each', async t => {
  const text = FORMS['postfix'](given)
  const [, end = ''] = /\n(--[^\r\n]+)\r\n/.exec(text) ?? []
  const parts = (count: number) => text.replace(`${end}\r\n`, `${end}\r\n\r\n`.repeat(count + 1))
  t.match(await read(parts(18)), [{ id: ID }])
  t.same(await read(parts(19)), [])
  const lines = (count: number) => `${'X-Line: x\r\n'.repeat(count)}${text}`
  t.match(await read(lines(5900)), [{ id: ID }])
  t.same(await read(lines(6000)), [])
})

t.test('a hundred kilobytes of explanation hide no report', async t => {
  for (const [form, make] of Object.entries(FORMS)) {
    const text = make(given)
    const long = text.replace('\r\n\r\n', `\r\n\r\n${`${'x'.repeat(76)}\r\n`.repeat(1300)}`)
    t.ok(long.length > 100_000)
    t.same(await read(long), await read(text), form)
    t.match(await read(long), [{ id: ID }], form)
  }
})

t.test('whatever a mailbox holds, nothing throws', async t => {
  const form = FORMS['postfix']
  const text = form(given)
  const hostile: Readonly<Record<string, string>> = {
    'an endless mail': text + 'x\n'.repeat(5_000_000),
    'empty lines': text.replace('Reporting-MTA', `${'\r\n'.repeat(60_000)}Reporting-MTA`),
    'a million parts': text.replace('--=_report_1f3870be\r\n', '--=_report_1f3870be\r\n\r\n'.repeat(5000)),
    'deep nesting': Array.from(
      { length: 300 },
      (_, n) => `Content-Type: multipart/report; boundary=b${n}\r\n\r\n--b${n}\r\n`,
    ).join(''),
    'a long field': text.replace('Status: 5.1.1', `Status: ${'5'.repeat(60_000)}`),
    'a long address': text.replaceAll(TO, `${'<'.repeat(50_000)}a@b`),
    'a folded head': text.replace('Subject: ', `Subject: ${'\r\n '.repeat(30_000)}`),
    'many recipients': text.replace(
      'Final-Recipient',
      `${'Action: failed\r\n\r\n'.repeat(5000)}Final-Recipient`,
    ),
    'no end of a boundary': text.slice(0, -100),
    'a head only': 'Content-Type: multipart/report',
    nothing: '',
  }
  for (const [name, mail] of Object.entries(hostile)) t.ok((await read(mail)).length <= 100, name)
  t.match(
    await read(hostile['an endless mail'] ?? ''),
    [{ id: ID }],
    'what stands behind a report is no part of it',
  )
  await fc.assert(
    fc.asyncProperty(
      fc.nat(text.length),
      fc.nat(400),
      fc.string({ unit: anyCharacter, maxLength: 40 }),
      async (at, cut, put) => {
        const got = await read(text.slice(0, at) + put + text.slice(at + cut))
        return got.every(({ id }) => id === ID)
      },
    ),
    { numRuns: 500 },
  )
})
