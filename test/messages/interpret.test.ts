import fc from 'fast-check'
import t from 'tap'
import {
  createInterpreter,
  type Interpretation,
  type InterpreterOptions,
} from '../../src/messages/interpret.ts'
import { createLinkPolicy } from '../../src/messages/links.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const linkPolicy = createLinkPolicy({ httpsOnly: false, hosts: [] })
const reader = (options: Partial<InterpreterOptions> = {}) => createInterpreter({ linkPolicy, ...options })
const interpret = reader()
const email = (email_param: object, rest: object = {}) => ({
  subject: 'S',
  to: 'a@b.test',
  email_param,
  ...rest,
})
const sms = (sms_param: object, rest: object = {}) => ({ to: '13800138000', sms_param, ...rest })

function read(result: Interpretation) {
  if (!result.ok) throw new Error(`${result.pointer} ${result.why}`)
  return result
}
/** Where the fault is, and what. */
function fault(result: Interpretation): string {
  return result.ok ? `taken as ${result.kind}` : `${result.pointer} ${result.why}`
}

t.test('a number that JSON has not kept exactly is no code', async t => {
  for (const code of ['12345678901234567890', '1e400', '-1e400', '1e21', '1e-7', '0.123456789012345']) {
    const body = JSON.parse(`{"type": 5, "code": ${code}}`) as object
    t.match(
      fault(interpret('email', email(body))),
      '/email_param/code is a number that cannot be read exactly',
      code,
    )
    const plain = JSON.parse(`{"plain_email": ${code}}`) as object
    t.match(fault(interpret('email', email({ type: 99 }, plain))), '/plain_email ', code)
  }
  for (const code of ['9007199254740991', '1.5', '12345678901234.5']) {
    const body = JSON.parse(`{"type": 5, "code": ${code}}`) as object
    t.equal(read(interpret('email', email(body))).content.params['code'], code)
  }
})

t.test('a subject is required, on one line, and keeps its own direction', async t => {
  for (const subject of [
    null,
    '',
    ' ',
    'a\nb',
    'a\u0000b',
    'a\u2028b',
    'a\u202eb',
    'a\u202ab\u202c',
    'a\u2067b\u2069',
    'a\u0085b',
    true,
    ['a'],
    'a\ud800',
  ]) {
    t.match(fault(interpret('email', { ...email({ type: 5, code: '1' }), subject })), '/subject ')
  }
  t.equal(read(interpret('email', { ...email({ type: 5, code: '1' }), subject: 42 })).content.subject, '42')
  t.match(fault(interpret('email', { to: 'a@b.test', email_param: { type: 5, code: '1' } })), '/subject ')
})

t.test('blanks around a value are cut, and a tab in a name is one', async t => {
  const { content } = read(
    interpret('email', {
      ...email({ type: '8\t', username: '\tAnn\t\u1160Lee ', time: 'noon\t' }),
      subject: '\tPump 3:\thot\t',
    }),
  )
  t.match(content, { subject: 'Pump 3: hot', params: { username: 'Ann Lee', time: 'noon' } })
  const link = read(interpret('email', email({ type: 1, url: '\thttps://example.com/x \t' })))
  t.equal(link.content.params['url'], 'https://example.com/x')
  t.equal(read(interpret('sms', sms({ type: 4, code: '\t1234\t' }))).content.params['code'], '1234')
  t.match(fault(interpret('sms', sms({ type: 4, code: '12\t34' }))), '/sms_param/code ')
  t.match(fault(interpret('email', email({ type: 1, url: 'https://example.com/x\n' }))), '/email_param/url ')
})

t.test('when a required parameter is missing or unusable the plain text is sent', async t => {
  const plain = 'Your link: https://example.com/x'
  for (const url of [undefined, null, 'javascript:alert(1)', 'https://u:p@example.com/', 17, {}]) {
    const result = read(interpret('email', email({ type: 1, url, hour: 3 }, { plain_email: plain })))
    t.equal(result.kind, 'registration-activation')
    t.equal(result.content.words, 'plain')
    t.equal(result.content.plain, plain)
    t.same(result.content.params, { hour: '3' })
    t.equal(result.validityMs, 3 * HOUR)
    t.match(fault(interpret('email', email({ type: 1, url }))), '/email_param/url ')
  }
  t.match(fault(interpret('email', email({ type: 1 }, { plain_email: 'a\u0007b' }))), '/plain_email ')
  const lost = read(interpret('sms', sms({ type: 4, minute: 5 }, { plain_sms: 'Code 1234' })))
  t.match(lost, {
    kind: 'login-code',
    purpose: 'code',
    content: { words: 'plain', plain: 'Code 1234' },
    validityMs: 5 * MINUTE,
  })
  t.match(read(interpret('email', email({ type: 6, hour: '1' }, { plain_email: 'Code 1234' }))), {
    kind: 'recovery-code',
    content: { words: 'plain' },
  })
})

t.test('an unknown type is delivered as plain text, or refused without any', async t => {
  for (const type of [4, '99', 'alert', null, undefined, true, {}, '__proto__', 'constructor']) {
    const result = read(interpret('email', email({ type }, { plain_email: 'Hello' })))
    t.match(result, { kind: 'plain', purpose: 'plain', validityMs: 24 * HOUR })
    t.match(result.content, { words: 'plain', plain: 'Hello', params: {} })
    t.match(fault(interpret('email', email({ type }))), '/email_param/type ')
    t.match(fault(interpret('sms', sms({ type: type === 4 ? 5 : type }))), '/sms_param/type ')
  }
  t.equal(
    read(interpret('sms', sms({ type: 9, code: '1' }, { plain_sms: 'Code 1' }))).validityMs,
    10 * MINUTE,
  )
})

t.test("the platform's words are said where the settings prefer them", async t => {
  const platform = reader({ platformWords: new Set(['email', 'sms']) })
  t.equal(read(platform('email', email({ type: 5, code: '1' }, { plain_email: 'P' }))).content.words, 'plain')
  t.equal(read(platform('email', email({ type: 5, code: '1' }))).content.words, 'ours')
  t.equal(read(platform('sms', sms({ type: 1, code: '1' }, { plain_sms: 'P' }))).content.words, 'plain')
  t.same(read(platform('sms', sms({ type: 1, code: '1' }, { plain_sms: 'P' }))).content.params, { code: '1' })
  const ours = read(interpret('email', email({ type: 5, code: '1' }, { plain_email: 'P' })))
  t.match(ours.content, { words: 'ours', plain: 'P' })
})

t.test('unknown keys and inherited ones are harmless', async t => {
  const result = read(
    interpret('email', email({ type: 5, code: '1', url: 'javascript:1', extra: { deep: [1] } }, { more: 1 })),
  )
  t.same(result.content.params, { code: '1' })
  t.match(fault(interpret('email', email(Object.create({ type: 5, code: '1' })))), '/email_param/type ')
})

t.test('a validity may have decimals; an invalid one counts as not stated', async t => {
  const life = (type: number, hour: unknown) =>
    read(
      interpret(
        'email',
        email({ type, url: 'https://e.test/', download_url: 'https://e.test/', code: '1', hour }),
      ),
    ).validityMs
  t.equal(life(1, '0.5'), HOUR / 2)
  t.equal(life(1, 720), 720 * HOUR)
  for (const nonsense of [
    undefined,
    '',
    'soon',
    0,
    '0',
    -1,
    720.1,
    '1,5',
    'NaN',
    '0x10',
    true,
    '1e2',
    '0.0166666667',
    '1234567890',
  ]) {
    t.equal(life(1, nonsense), 24 * HOUR)
    t.equal(life(7, nonsense), 24 * HOUR)
    t.equal(life(8, nonsense), 24 * HOUR)
    t.equal(life(5, nonsense), 10 * MINUTE)
  }
  const minute = read(interpret('sms', sms({ type: 1, code: '1', minute: '2.5' })))
  t.equal(minute.validityMs, 150_000)
  const stated = read(interpret('sms', sms({ type: 1, code: '1', minute: 'soon' })))
  t.same(stated.content.params, { code: '1' }, 'a validity that was not stated is not a parameter')
  const mail = read(interpret('email', email({ type: 5, code: '1', hour: 'soon' })))
  t.same(mail.content.params, { code: '1' })
  for (const tooShort of ['0.001', 0.016, '0.000001']) {
    const { validityMs, content } = read(interpret('sms', sms({ type: 1, code: '1', minute: tooShort })))
    t.equal(validityMs, 10 * MINUTE, `${tooShort} minutes are less than a second, and as good as 0`)
    t.same(content.params, { code: '1' })
  }
  t.equal(read(interpret('sms', sms({ type: 1, code: '1', minute: '0.017' }))).validityMs, 1020)
  t.equal(read(interpret('sms', sms({ type: 1, code: '1', minute: '0.016666667' }))).validityMs, 1000)
})

t.test('a code is opaque, but stays on its line and exact', async t => {
  for (const code of [' a-B/+=9 ', '\u3000a-B/+=9\u00a0'])
    t.equal(read(interpret('sms', sms({ type: 1, code }))).content.params['code'], 'a-B/+=9')
  const marks = '\u0007|\u001b[31m|\r\n|\u0085|\u2028|\u2029|\u2066'.split('|').map(mark => `12${mark}34`)
  const wrong = ['12\n34', '12\u000034', '1\u202e2', '\ud800', 2 ** 60, true, [], 'x'.repeat(1025), ...marks]
  for (const code of wrong) {
    t.match(fault(interpret('sms', sms({ type: 1, code }))), '/sms_param/code ')
  }
})

const INVISIBLE =
  '\u200d|\u200b\u200c| \u00a0\u2003\u3000|\ufeff|\u2060|\u00ad|\u3164|\u115f|\u034f|\ufe0f|\u2800|\u{e0041}|\u200f \u061c'.split(
    '|',
  )

t.test('a text without a visible character is blank, and counts as absent', async t => {
  for (const text of INVISIBLE) {
    const name = encodeURI(text)
    t.match(
      fault(interpret('email', { ...email({ type: 5, code: '1' }), subject: text })),
      '/subject is missing or blank',
      name,
    )
    t.match(fault(interpret('sms', sms({ type: 1, code: text }))), '/sms_param/code ', name)
    t.match(fault(interpret('email', email({ type: 99 }, { plain_email: text }))), /^\S*type /, name)
    const { content } = read(interpret('email', email({ type: 8, username: text, time: 'noon' })))
    t.same(content.params, { time: 'noon' }, name)
  }
  for (const subject of ['\u200dx', '。', '🌍', 'کد\u200cها', '-'])
    t.equal(read(interpret('email', { ...email({ type: 5, code: '1' }), subject })).content.subject, subject)
})

t.test('plain text may have two directions, but turns no letters around and ends what it begins', async t => {
  const said = (text: string) => interpret('sms', sms({ type: 99 }, { plain_sms: text }))
  for (const text of [
    'رمز التحقق\u200f: 482913',
    'کد تأیید شما\u061c 482913',
    'رقمك \u202a+86 138\u202c هو',
    'رمزك \u2066482913\u2069.\n\u2067قال \u2068x\u2069\u2069',
  ])
    t.equal(read(said(text)).content.plain, text)
  for (const text of [
    'see \u202egpj.exe\u202c',
    '\u202d482913\u202c',
    'a \u202b b',
    'a \u2067 b\n\u2069',
    'a \u2067 b\u2028\u2069',
    'a\u202c',
    'a\u2069',
    'a \u2066\u202a b\u2069\u202c',
  ])
    t.match(
      fault(said(text)),
      /[\u202d\u202e]/.test(text) ? /overrides the/ : /does not end/,
      encodeURI(text),
    )
})

t.test('plain text may stack as many marks on a letter as a script needs, and no more', async t => {
  const said = (marks: number) =>
    interpret('sms', sms({ type: 99 }, { plain_sms: `a${'\u0301'.repeat(marks)}b` }))
  t.ok(read(said(8)))
  t.match(fault(said(9)), '/plain_sms stacks marks on a letter')
})

t.test('plain text may hold a hundred links', async t => {
  const said = (count: number) =>
    interpret('email', email({ type: 99 }, { plain_email: 'https://example.com/x\n'.repeat(count) }))
  t.ok(read(said(100)))
  t.match(fault(said(101)), '/plain_email holds more than 100 links')
})

t.test('plain text keeps its lines; control characters make it unusable', async t => {
  const text = 'a\r\n\tb\u2028c'
  t.equal(read(interpret('email', email({ type: 99 }, { plain_email: text }))).content.plain, text)
  t.match(fault(interpret('email', email({ type: 99 }, { plain_email: 'a\u0007b' }))), '/plain_email ')
  const ours = read(interpret('email', email({ type: 5, code: '1' }, { plain_email: 'a\u0007b' })))
  t.notOk('plain' in ours.content)
})

t.test('links in plain text are judged by the same policy', async t => {
  const strict = reader({ linkPolicy: createLinkPolicy({ httpsOnly: true, hosts: ['*.example.com'] }) })
  const said = (text: string) => strict('email', email({ type: 99 }, { plain_email: text }))
  t.ok(read(said('See https://a.example.com/x?y=1, or (https://b.example.com).')))
  t.ok(read(said('请打开 https://a.example.com/激活，谢谢')))
  for (const bad of [
    'http://a.example.com/',
    'https://evil.test/',
    'HTTPS://evil.test',
    'https://a.example.com@evil.test/',
    'https://еvil.example',
    'https://пример.рф',
    'www.evil.example',
    'evil.com',
    'evil。com',
    'https://a.example.com。evil.test',
    'https://админ@a.example.com',
    'ftp://a.example.com',
    'myapp://a.example.com',
    '192.0.2.1',
    'https://:pw@a.example.com/',
  ]) {
    t.match(fault(said(`Go to ${bad} now`)), '/plain_email ', bad)
  }
  for (const fine of [
    'https://a.example.com。谢谢',
    '请登录www.example.com查看',
    'A.example.com',
    'Ａ.example。com',
    'mail ann@example.org, version 1.2.3 of Node.js at 12.30',
  ])
    t.ok(read(said(fine)), fine)
})

t.test('a link in a name is shown, and cannot be clicked, whatever LINK_HOSTS says', async t => {
  for (const policy of [linkPolicy, createLinkPolicy({ httpsOnly: true, hosts: ['www.evil.com'] })]) {
    const params = {
      username: 'https://www.evil.com/x',
      corporation: 'Evil.com',
      productName: 'T2 www.evil.com',
      time: 'evil.com',
    }
    const body = email({ type: 8, ...params, email: 'ann@example.com' }, { subject: 'Call evil.com' })
    const { content } = read(reader({ linkPolicy: policy })('email', body))
    t.same(content.params, {
      username: 'https: //www. evil. com/x',
      corporation: 'Evil. com',
      productName: 'T2 www. evil. com',
      time: 'evil. com',
      email: 'ann@example.com',
    })
    t.equal(content.subject, 'Call evil. com')
  }
})

t.test('a code that holds a link or is longer than 32 characters is none', async t => {
  for (const code of ['http://evil.com', 'evil.com', 'www.evil.example', 'еvil。com', 'x'.repeat(33)]) {
    const why = code.startsWith('x') ? 'is longer than 32 characters' : 'holds a link'
    t.match(fault(interpret('sms', sms({ type: 1, code }))), `/sms_param/code ${why}`, code)
    t.match(fault(interpret('email', email({ type: 3, code }))), `/email_param/code ${why}`)
    const plain = read(interpret('sms', sms({ type: 1, code }, { plain_sms: 'Your code is 123456' })))
    t.match(plain.content, { words: 'plain', params: { code: undefined } })
  }
  for (const code of ['123456', 'x'.repeat(32), 'A1-B2.C3', 'dGVzdA=='])
    t.ok(read(interpret('sms', sms({ type: 1, code }))), code)
})

t.test('a name may have 1024 characters', async t => {
  const named = (length: number) =>
    read(interpret('email', email({ type: 8, username: 'x'.repeat(length) }))).content.params['username']
  t.equal(named(1024)?.length, 1024)
  t.equal(named(1025), undefined)
})

t.test('plain SMS text of more than SMS_MAX_SEGMENTS is unusable', async t => {
  const one = reader({ smsMaxSegments: 1 })
  const tooLong = one('sms', sms({ type: 99 }, { plain_sms: 'x'.repeat(161) }))
  t.equal(fault(tooLong), '/plain_sms is longer than SMS_MAX_SEGMENTS (1) allows')
  t.ok(read(one('sms', sms({ type: 99 }, { plain_sms: 'x'.repeat(160) }))))
  t.ok(read(one('email', email({ type: 99 }, { plain_email: 'x'.repeat(161) }))), 'a mail has no segments')
})

t.test('plugin_id is text or a number, and absent when blank or odd', async t => {
  const plugin = (plugin_id: unknown) =>
    read(interpret('sms', sms({ type: 1, code: '1' }, { plugin_id }))).content.pluginId
  t.equal(plugin('p1'), 'p1')
  t.equal(plugin(7), '7')
  for (const nothing of [null, '', ' ', {}, 'a\nb']) t.equal(plugin(nothing), undefined)
  const mail = read(interpret('email', email({ type: 5, code: '1' }, { plugin_id: 'p1' })))
  t.equal(mail.content.pluginId, undefined, 'a mail has none')
})

t.test('no body makes it throw, and no reason repeats a value', async () => {
  const value = fc.oneof(fc.jsonValue(), fc.string(), fc.constantFrom(1, '5', null, 'https://e.test/'))
  const keys = ['type', 'url', 'code', 'hour', 'minute', 'username', '__proto__', 'download_url']
  const params = fc.dictionary(fc.constantFrom(...keys), value)
  fc.assert(
    fc.property(
      fc.constantFrom('email' as const, 'sms' as const),
      params,
      value,
      value,
      (channel, param, subject, plain) => {
        const result = interpret(channel, {
          subject,
          email_param: param,
          sms_param: param,
          plain_email: plain,
          plain_sms: plain,
        })
        if (result.ok)
          return (
            result.validityMs > 0 &&
            Object.values(result.content.params).every(text => typeof text === 'string')
          )
        return result.pointer.startsWith('/') && result.why.length < 120
      },
    ),
    { numRuns: 500 },
  )
})
