import { text } from 'node:stream/consumers'
import { connect } from 'node:tls'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { mailBody, NO_QUOTAS, shown, smsBody, startRig } from '../rigs/service.ts'

t.test('prototypes, depth, size and what is no JSON are refused, and say nothing of what came', async t => {
  const rig = await startRig(t)
  const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
  const wrong: readonly (readonly [string | Buffer, number])[] = [
    ['', 400],
    ['canary', 400],
    ['{"canary":', 400],
    ['[]', 400],
    ['null', 400],
    ['"canary"', 400],
    ['{"subject":"x","to":"a@b.test"}', 400],
    ['{"subject":"x","to":"a@b.test","email_param":null}', 400],
    ['{"subject":"x","to":"a@b.test","email_param":[]}', 400],
    ['{"subject":"x","to":["a@b.test"],"email_param":{"type":1}}', 400],
    ['{"subject":{"canary":1},"to":"a@b.test","email_param":{"type":1}}', 400],
    ['{"subject":"x","to":"a@b.test","email_param":{"type":{"$gt":0}}}', 400],
    ['['.repeat(60_000), 400],
    ['{"a":'.repeat(13_000), 400],
    [Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]), 400],
    [Buffer.from('\ufeff{}', 'utf16le'), 400],
    [`{"subject":"${'x'.repeat(70_000)}"}`, 413],
  ]
  for (const channel of ['email', 'sms'] as const) {
    for (const [body, status] of wrong) {
      const answer = await rig.post(channel, body)
      const name = `${channel} ${shown(String(body).slice(0, 60))}`
      t.equal(answer.errCode, channel === 'email' ? 4002011 : 4002001, name)
      t.equal(answer.status, status, name)
      t.notMatch(answer.text, /canary|b\.test/, name)
    }
  }
  // Right in every other way, so that nothing else refuses them.
  const right = '"subject":"x","to":"ann@example.com","email_param":{"type":1,"url":"https://x.test/canary"}'
  const param = right.slice(0, -1)
  const refused = [
    [`{${right},"__proto__":{}}`, 'key'],
    [`{${right},"__proto__":{"subject":"y"}}`, 'key'],
    [`{${right},"constructor":{"prototype":{"x":1}}}`, 'key'],
    [`{${param},"__proto__":{"url":"https://x.test"}}}`, 'key'],
    [`{${param},"\\u005f_proto__":1}}`, 'key'],
    [`{${param},"c\\u006fnstructor":1}}`, 'key'],
    [`{${right},"extra":[{"a":{"__proto__":1}}]}`, 'key'],
    [`{${right},"extra":${deep(8)}}`, 'levels deep'],
    [`{${right},"extra":${'['.repeat(8)}${']'.repeat(8)}}`, 'levels deep'],
  ] as const
  for (const [body, why] of refused) {
    const answer = await rig.post('email', body)
    t.same([answer.status, answer.errCode], [400, 4002011], shown(body))
    t.match(answer.errMsg, why)
    t.notMatch(answer.text, 'canary')
  }
  t.equal((await rig.post('email', `{${right},"extra":${deep(7)}}`)).errCode, 0, 'seven more levels are fine')
  const before = rig.smtp.mails.length
  const typed = (type: string) =>
    rig.ask(rig.path('email'), {
      method: 'POST',
      headers: { 'content-type': type },
      body: JSON.stringify(mailBody()),
    })
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'x',
    'application/jsonx',
  ])
    t.equal((await typed(type)).status, 415, type)
  t.equal(rig.smtp.mails.length + rig.twilio.requests.length, before)
  t.equal((await typed('APPLICATION/JSON; charset=UTF-8')).errCode, 0)
})

t.test('a packed body is not unpacked, and the answer says which header it is', async t => {
  const rig = await startRig(t)
  // 40 KB that would be 40 MB.
  const bomb = gzipSync(Buffer.alloc(40_000_000, ' '))
  const packed = (coding: string, body: Buffer) =>
    rig.ask(rig.path('sms'), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': coding },
      body,
    })
  for (const body of [bomb, gzipSync(JSON.stringify(smsBody()))]) {
    for (const coding of ['gzip', 'GZIP', 'br', 'identity, gzip', 'x']) {
      const answer = await packed(coding, body)
      t.same([answer.status, answer.errCode], [415, 4002001], coding)
      t.match(answer.errMsg, /Content-Encoding/)
    }
  }
  t.equal(rig.twilio.requests.length, 0)
  t.equal((await packed('Identity', Buffer.from(JSON.stringify(smsBody())))).errCode, 0)
})

t.test('no Content-Type, an empty one and a blank one all mean JSON', async t => {
  const rig = await startRig(t)
  const { hostname, port } = new URL(rig.service().publicUrl)
  const body = JSON.stringify(smsBody())
  for (const type of ['', 'Content-Type:\r\n', 'Content-Type: \t\r\n']) {
    const socket = connect({ host: hostname, port: Number(port), ca: rig.ca })
    socket.write(
      `POST ${rig.path('sms')} HTTP/1.1\r\nHost: x\r\n${type}Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    t.match(await text(socket), /^HTTP\/1\.1 200 [\s\S]*"err_code":0/, shown(type))
  }
})

t.test('a link goes out as it came, with its host beside it, or not at all', async t => {
  const rig = await startRig(t, { LINK_HOSTS: 'www.example.com, *.iot.example.com', LINKS_HTTPS_ONLY: 'on' })
  const wrong = [
    'http://www.example.com/a',
    'https://evil.test/a',
    'https://www.example.com.evil.test/',
    'https://xwww.example.com/',
    'https://iot.example.com/',
    'https://www.example.com@evil.test/',
    'https://evil.test@www.example.com/',
    'https://user:password@www.example.com/',
    'https://@www.example.com/',
    'https://:@www.example.com/',
    'https://www.example.com\\@evil.test/',
    'https:/www.example.com/',
    'https:www.example.com',
    '//www.example.com/',
    'https:///www.example.com/',
    'javascript:alert(1)//https://www.example.com/',
    'data:text/html,https://www.example.com',
    'https://www.exampl%65.com/',
    'https://www。example。com.evil.test/',
    '\nhttps://www.example.com/a',
    'https://www.example.com/a b',
    'https://www.example.com/\u00adx',
    'https://www.example.com/\u200bx',
    `https://www.example.com/${'a'.repeat(5000)}`,
  ]
  for (const url of wrong) {
    const answer = await rig.post('email', mailBody({}, { url }))
    t.equal(answer.errCode, 4002011, shown(url.slice(0, 80)))
    t.notMatch(answer.text, /evil|example/, 'and is not repeated')
    const plain = await rig.post('email', mailBody({ plain_email: `see ${url}` }, { type: 99 }))
    // After a backslash a browser reads a path, so that one leads where it may.
    if (/^https?:\/\/\w/.test(url) && !url.includes('\\'))
      t.equal(plain.errCode === 0 && /evil/.test(url), false, `plain ${shown(url.slice(0, 80))}`)
  }
  const before = rig.smtp.mails.length
  const right = [
    `https://www.example.com/a?x=1&y=%20"'<>{}|^\`é#!/code/AbC==`.replace(/[\s"<>]/g, ''),
    'https://a.b.iot.example.com:8443/?q=<b>&amp;lt;#a&b',
    'HTTPS://WWW.EXAMPLE.COM/%7Euser/../x?a=b+c',
  ]
  for (const url of right) {
    const answer = await rig.post('email', mailBody({}, { url }))
    t.equal(answer.errCode, 0, shown(url))
  }
  const mails = rig.smtp.mails.slice(before).map(({ data }) => decoded(data))
  for (const [at, url] of right.entries()) {
    t.ok(mails[at]?.text.includes(url), `${shown(url)} byte for byte`)
    const host = new URL(url).host
    t.ok(mails[at]?.text.replaceAll(url, '').includes(`(${host})`), `${host} in the text, beside the link`)
    t.ok(visible(mails[at]?.html ?? '', url).includes(host), `${host} in the HTML, beside the link`)
    t.ok(mails[at]?.html.includes(`href="${escaped(url)}"`), 'and in HTML escaped, nothing else')
    t.notOk(mails[at]?.html.includes('<b>&'), 'no markup comes out of it')
  }
})

t.test(
  'a link in a name is shown and cannot be clicked, in a code it is refused, in plain text it is judged',
  async t => {
    const rig = await startRig(t, { LINK_HOSTS: 'www.example.com', LINKS_HTTPS_ONLY: 'on', ...NO_QUOTAS })
    const evil = ['http://evil.example/x', 'www.evil.example', 'evil.com', 'https://пример.рф', 'evil。com']
    for (const link of evil) {
      const params = {
        type: 8,
        url: undefined,
        username: link,
        corporation: link,
        productName: link,
        time: link,
        email: link,
      }
      t.equal((await rig.post('email', mailBody({ subject: `About ${link}` }, params))).errCode, 0, link)
      const { data } = rig.smtp.mails.at(-1) ?? { data: Buffer.alloc(0) }
      const { text, html } = decoded(data)
      for (const part of [text, html, data.toString()]) t.notMatch(part, link, `${link} is nowhere as it was`)
      t.match(text, link.replace('://', ': //').replace(/[.。]/g, '$& '))
      t.equal((await rig.post('sms', smsBody({}, { code: link }))).errCode, 4002001)
      t.equal(
        (await rig.post('email', mailBody({}, { type: 3, url: undefined, code: link }))).errCode,
        4002011,
      )
      const plain = { type: 99, url: undefined, code: undefined }
      t.equal((await rig.post('email', mailBody({ plain_email: `Go to ${link}` }, plain))).errCode, 4002011)
      t.equal((await rig.post('sms', smsBody({ plain_sms: `Go to ${link}` }, plain))).errCode, 4002001)
    }
    t.equal(rig.twilio.messages.length, 0)
  },
)

t.test('an SMS is a text that a phone shows, whatever it begins with and however long it is', async t => {
  const rig = await startRig(t, NO_QUOTAS)
  const plain = (text: string) => rig.post('sms', smsBody({ plain_sms: text }, { type: 99 }))
  const headers = [
    '\x05\x00\x03\xcc\x02\x01', // the first of two parts
    '\x06\x05\x04\x0b\x84\x23\xf0', // WAP push, to its port
    '\x1b(', // GSM's escape to its second table
    'x\f', // the same table's page break
  ]
  for (const header of headers) {
    t.equal((await plain(`${header}Example`)).errCode, 4002001, shown(header))
    t.equal((await rig.post('sms', smsBody({}, { code: `${header}1234` }))).errCode, 4002001, shown(header))
  }
  for (const unseen of ['12\u200b34', '\u206212', '12\u00ad34', '12\u{e0031}', '1\u03362\u0336'])
    t.equal((await rig.post('sms', smsBody({}, { code: unseen }))).errCode, 4002001, shown(unseen))
  t.equal((await plain(`Example ${'e' + '\u0301'.repeat(500)}`)).errCode, 4002001, 'marks over other lines')
  t.equal((await plain('x'.repeat(1531))).errCode, 4002001, 'more than ten segments')
  t.equal(rig.twilio.messages.length, 0)

  // Our words put the signature in front, unless the text has it.
  for (const command of ['//SCKL15811581 Example', '  //VVM:STATUS:st=R;s=Example', '//brew:Example'])
    t.equal((await plain(command)).errCode, 0, command)
  t.same(
    rig.twilio.messages.map(({ body }) => body),
    ['/ /SCKL15811581 Example', '/ /VVM:STATUS:st=R;s=Example', '/ /brew:Example'],
  )
})

t.test(
  'a name stays in its place: nothing is drawn over other lines, or pushed to a line of its own',
  async t => {
    const rig = await startRig(t)
    const wide = ['\u3000', '\u00a0', ' ', '\u3164', '\u2800', '\u115f\u1160']
      .map(blank => blank.repeat(60))
      .join('')
    const params = { type: 8, url: undefined, username: `Z${'\u0489'.repeat(300)}`, corporation: `A${wide}B` }
    t.equal((await rig.post('email', mailBody({ subject: `A${wide}B` }, params))).errCode, 0)
    const { data } = rig.smtp.mails.at(-1) ?? { data: Buffer.alloc(0) }
    const { text } = decoded(data)
    t.match(text, /Z\u0489{8}(?!\u0489)/u)
    t.match(text, 'A B')
    t.match(data.toString(), /^Subject: A B$/m)
  },
)

function escaped(url: string): string {
  return url
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&#34;')
    .replaceAll("'", '&#39;')
}

/** What a reader sees of an HTML part, less the link itself. */
function visible(html: string, url: string): string {
  return html.replace(/<style[^]*?<\/style>|<[^>]*>/g, ' ').replaceAll(escaped(url), '')
}

/** Both parts of a mail, quoted-printable or base64 undone. */
function decoded(data: Buffer): { readonly text: string; readonly html: string } {
  const raw = data.toString('latin1')
  const boundary = /boundary="?([^"\r\n]+)"?/.exec(raw)?.[1] ?? ''
  const parts = raw.split(`--${boundary}`).slice(1, -1)
  const [text = '', html = ''] = parts.map(part => {
    const [head = '', ...rest] = part.split('\r\n\r\n')
    const body = rest.join('\r\n\r\n')
    if (/base64/i.test(head)) return Buffer.from(body, 'base64').toString()
    return Buffer.from(
      body
        .replace(/=\r\n/g, '')
        .replace(/=([0-9A-F]{2})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
      'latin1',
    ).toString()
  })
  return { text, html }
}
