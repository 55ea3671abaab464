import fc from 'fast-check'
import t from 'tap'
import { callbackKinds } from '../../src/messages/kinds.ts'
import { createLinkPolicy } from '../../src/messages/links.ts'
import { sampleMessage, samples } from '../../src/messages/samples.ts'
import { countSegments } from '../../src/messages/sms-segments.ts'
import { Unrenderable } from '../../src/words/render.ts'
import { webUrl, webUrlWithQuery } from '../fixtures/arbitraries.ts'
import { messageOf, rawOf, readMail, rendererFor, smsOf } from './rendering.ts'

const renderer = rendererFor()
const withoutControls = (text: string) =>
  text
    .replace(/[\p{Cc}\u2028\u2029]/gu, '')
    .toWellFormed()
    .trim()
const mails = callbackKinds.filter(kind => kind.channel === 'email')

t.test('the built-in words are complete, in every language', async t => {
  t.same(renderer.locales, ['ar', 'en', 'es', 'zh-CN', 'zh-TW'])
  t.same(renderer.problems(), [])
})

t.test('the recipients of one callback get each a mail of its own', async t => {
  const plain = '<&>"'.repeat(8000)
  const content = { params: {}, subject: 'Subject', plain, words: 'plain' } as const
  const to = Array.from({ length: 50 }, (_, at) => ({
    recipient: `r${at}@example.org`,
    id: `${at}`.padStart(32, 'a'),
  }))
  const all = () => to.map(rest => rawOf(renderer, { ...messageOf('email', 'plain', {}, rest), content }))
  const apart = rendererFor()
  for (const [at, raw] of all().entries()) {
    const rest = to[at] ?? {}
    t.ok(rawOf(apart, messageOf('email', 'plain', { ...content }, rest)).equals(raw))
  }
})

t.test(
  'what a mail says is encoded once for those who are rendered without a pause, and forgotten then',
  async t => {
    let reads = 0
    const content = {
      subject: 'Subject',
      words: 'ours',
      get params() {
        reads += 1
        return { code: '4711', hour: '1' }
      },
    } as const
    const message = { ...messageOf('email', 'phone-change'), content }
    const readsOf = (times: number) => {
      reads = 0
      for (let n = 0; n < times; n += 1) rawOf(renderer, message)
      return reads
    }
    const once = readsOf(1)
    await Promise.resolve()
    t.ok(once > 0)
    t.equal(readsOf(3), once, 'as often as for one')
    await Promise.resolve()
    t.equal(readsOf(1), once, 'it is not there any more, and encoded anew')
  },
)

t.test('the same message is the same bytes, whichever process renders it', async t => {
  for (const sample of samples) {
    const message = sampleMessage(sample, 'zh-CN')
    t.same(renderer.render(message), rendererFor().render(message))
  }
})

t.test("validity is said in words, by the language's own plural rules", async t => {
  const said = (locale: string, hour: string) =>
    renderer.viewMail(messageOf('email', 'phone-change', { params: { code: '1', hour }, locale })).text
  for (const [hours, words] of [
    ['0.001', '3 seconds'],
    ['0.0165', '59 seconds'],
    ['0.5', '30 minutes'],
    ['1', '1 hour'],
    ['1.5', '90 minutes'],
    ['3.7', '3 hours'],
    ['24', '24 hours'],
    ['36', '36 hours'],
    ['48', '2 days'],
    ['71', '71 hours'],
    ['84', '3 days'],
    ['720', '30 days'],
  ] as const)
    t.match(said('en', hours), `valid for ${words}.`)
  t.match(said('zh-CN', '0.5'), /30 分钟内有效/)
  t.match(said('es', '1'), /durante 1 hora\./)
  t.match(said('ar', '1'), /لمدة ساعة واحدة\./)
  t.match(said('ar', '2'), /لمدة ساعتين\./)
  t.match(said('ar', '5'), /لمدة 5 ساعات\./)
  t.match(said('ar', '11'), /لمدة 11 ساعة\./)
})

t.test('no validity is promised that the platform did not state', async t => {
  for (const kind of mails) {
    const { hour: _, ...params } = kind.sample.params
    for (const locale of renderer.locales) {
      const { text } = renderer.viewMail(messageOf('email', kind.name, { params, locale }))
      t.notMatch(text, /valid for|works for|内有效|內有效|válido|صالح/, `${kind.name} ${locale}`)
    }
  }
})

t.test('a brand name is printed, not compiled', async t => {
  const odd = rendererFor({ brand: { name: '{{ code }}<b>' } })
  const view = odd.viewMail(messageOf('email', 'phone-change', { params: { code: '31337' } }))
  t.match(view.html, /\{\{ code \}\}&lt;b&gt;/)
  t.match(view.text, /\{\{ code \}\}<b>/)
  t.notMatch(view.html + view.text, /31337(?:<|&lt;)b/)
})

t.test('any link that passes the policy survives to the byte', async () => {
  const policy = createLinkPolicy({ httpsOnly: false, hosts: [] })
  const url = fc
    .tuple(webUrlWithQuery, fc.string({ unit: 'grapheme', maxLength: 80 }))
    .map(([base, tail]) => `${base}${base.includes('#') ? '' : '#!'}${tail}`)
    .filter(link => policy(link) === null)
  await fc.assert(
    fc.asyncProperty(url, async link => {
      const mail = await readMail(
        rawOf(renderer, messageOf('email', 'file', { params: { download_url: link } })),
      )
      return mail.text.split(/\r?\n/).includes(link)
    }),
    { numRuns: 100 },
  )
})

const withWebotp = rendererFor({ sms: { webotpDomain: 'login.example.com' } })

t.test('a precompiled layout gives the same bytes as the layout, whatever the message', async () => {
  const value = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    fc.constantFrom('<b>&"\'', '{{ code }}', 'a\nb', 'é=20'),
  )
  const clean = value.map(withoutControls).filter(text => text !== '')
  const message = fc.constantFrom(...mails).chain(kind =>
    fc.record({
      kind: fc.constant(kind.name),
      locale: fc.constantFrom(...renderer.locales),
      subject: clean,
      needed: fc.record(
        Object.fromEntries(kind.required.map(key => [key, key === kind.linkParam ? webUrl : clean])),
      ),
      also: fc.record(
        Object.fromEntries(
          kind.params
            .filter(key => !kind.required.includes(key))
            .map(key => [key, key === 'hour' ? fc.constantFrom('1', '0.5', '72', 'x') : clean]),
        ),
        { requiredKeys: [] },
      ),
    }),
  )
  await fc.assert(
    fc.asyncProperty(message, async ({ kind, locale, subject, needed, also }) => {
      const one = messageOf('email', kind, {
        params: { ...needed, ...also } as Record<string, string>,
        subject,
        locale,
      })
      const raw = rawOf(withWebotp, one)
      const [mail, view] = [await readMail(raw), withWebotp.viewMail(one)]
      const body = raw.subarray(raw.indexOf('\r\n\r\n')).toString('latin1')
      const lines = (part: string) => part.replaceAll('\r\n', '\n').trimEnd()
      return (
        lines(mail.html) === lines(view.html) &&
        lines(mail.text) === lines(view.text) &&
        mail.subject === view.subject &&
        // RFC 2045, 6.7 and 6.8.
        body.split('\r\n').every(line => line.length <= 76)
      )
    }),
    { numRuns: 150 },
  )
})

t.test('plain text stands in our layout, with its links clickable', async t => {
  const plain = 'Hello <you>,\r\n\tyour link: https://a.example.com/?x=1&y=2#!z==.\nBye'
  const content = { plain, words: 'plain' as const, params: { code: '999999' }, subject: 'News' }
  for (const kind of ['plain', 'activation-code', 'a-kind-of-a-later-version']) {
    const mail = await readMail(rawOf(renderer, messageOf('email', kind, content)))
    t.equal(mail.subject, 'News')
    t.match(mail.html, /<h1[^>]*>News<\/h1>/)
    t.match(
      mail.html,
      /Hello &lt;you&gt;,<br>\s*your link: <a href="https:\/\/a\.example\.com\/\?x=1&amp;y=2#!z=="/,
    )
    t.match(mail.html, /<\/a>\.<br>/)
    t.ok(mail.text.replaceAll('\r\n', '\n').includes(plain.replaceAll('\r\n', '\n')))
    t.notMatch(mail.html, /999999/)
  }
  t.throws(() => renderer.render(messageOf('email', 'a-kind-of-a-later-version')), Unrenderable)
  t.throws(() => smsOf(renderer, messageOf('sms', 'a-kind-of-a-later-version')), Unrenderable)
})

t.test('every SMS is one segment and carries the brand', async t => {
  const brands = ['Acme', 'Northwind', 'Contoso Devices', '云智科技', 'شركة النور', 'Café Sol']
  for (const name of brands) {
    const branded = rendererFor({ brand: { name } })
    for (const kind of callbackKinds.filter(kind => kind.channel === 'sms')) {
      for (const locale of branded.locales) {
        const text = smsOf(
          branded,
          messageOf('sms', kind.name, { params: { code: '123456', minute: '10' }, locale }),
        )
        t.match(countSegments(text), { segments: 1 }, `${kind.name} ${locale} ${name}`)
        t.ok(text.includes(name) && text.includes('123456'))
      }
    }
  }
})

t.test(
  'words become GSM-7 or a shorter variant only where one segment needs it; code and brand never change',
  async t => {
    const text = smsOf(
      rendererFor({ brand: { name: 'Solé' }, locale: 'es' }),
      messageOf('sms', 'login-code', { params: { code: '123456', minute: '2880' } }),
    )
    t.match(text, /2 dias/, 'í is not in GSM-7, and two segments would be paid for')
    t.match(text, /Solé/)
    const odd = smsOf(renderer, messageOf('sms', 'login-code', { params: { code: '“12”–34', minute: '10' } }))
    t.match(odd, /“12”–34/)
  },
)

t.test('the sender and signature are the plugin’s; else the sender is the country’s', async t => {
  const senders = rendererFor({
    sms: {
      pluginSenders: new Map([
        ['p1', { signature: 'Plugin One', from: '+15005550006' }],
        ['p2', { messagingServiceSid: 'MG0123456789abcdef0123456789abcdef' }],
        ['p3', { signature: 'Three' }],
      ]),
      countrySenders: new Map([['CN', { from: '+861069000000' }]]),
    },
  })
  const sent = (pluginId: string | undefined, recipient = '+12025550123') => {
    const content = { params: { code: '1' }, ...(pluginId && { pluginId }) }
    const outgoing = senders.render(messageOf('sms', 'login-code', content, { recipient }))
    return { ...outgoing, body: outgoing.channel === 'sms' && outgoing.text() }
  }
  t.match(sent('p1'), { body: /^Plugin One: /, sender: { from: '+15005550006' } })
  t.match(sent('p1', '+8613800138000'), { sender: { from: '+15005550006' } }, 'though the country has one')
  t.match(sent('p2'), { body: /^Northwind: /, sender: { messagingServiceSid: /^MG/ } })
  t.match(sent('p3', '+8613800138000'), { body: /^Three: /, sender: { from: '+861069000000' } })
  t.match(sent('unknown', '+8613800138000'), { body: /^Northwind: /, sender: { from: '+861069000000' } })
  t.notOk('sender' in sent(undefined))
})

t.test('plain SMS is signed once', async t => {
  const said = (plain: string, locale = 'en') =>
    smsOf(renderer, messageOf('sms', 'plain', { plain, words: 'plain', locale }))
  t.equal(said('Code 1234'), 'Northwind: Code 1234')
  t.equal(said('Northwind: code 1234'), 'Northwind: code 1234')
  t.equal(said('//wl Northwind'), '/ /wl Northwind', 'a command to the phone is none any more')
  t.equal(said('//WL Northwind'), '/ /WL Northwind')
  t.equal(said('//1 Northwind'), '//1 Northwind')
  t.equal(said('【云智】验证码 1234', 'zh-CN'), '【云智】验证码 1234')
  t.equal(said('验证码 1234', 'zh-CN'), '【Northwind】验证码 1234')
})

t.test('the WebOTP line is last, exact, and never costs a segment', async t => {
  for (const kind of callbackKinds.filter(({ purpose }) => purpose === 'code')) {
    for (const locale of withWebotp.locales) {
      const message = messageOf(kind.channel, kind.name, { params: { code: '123456', minute: '10' }, locale })
      const mail = kind.channel === 'email' ? withWebotp.viewMail(message) : undefined
      const text = mail?.text.trimEnd() ?? smsOf(withWebotp, message)
      t.equal(text.split('\n').at(-1), '@login.example.com #123456')
      if (mail) t.match(mail.html, />@login\.example\.com #123456<(?:\/?(?:t[dr]|table|body|html)>\s*<?)+$/)
      else t.equal(countSegments(text).segments, 1)
    }
  }
  const odd = { params: { code: '12 34', minute: '10' } }
  t.notMatch(smsOf(withWebotp, messageOf('sms', 'login-code', odd)), /@login/, 'a blank cannot be filled in')
  t.notMatch(withWebotp.viewMail(messageOf('email', 'phone-change', odd)).text, /@login/)
  for (const [length, line] of [
    [64, '@login.example.com #'],
    [65, ''],
  ] as const) {
    const code = 'x'.repeat(length)
    const { text } = withWebotp.viewMail(messageOf('email', 'phone-change', { params: { code } }))
    t.equal(/^@login.*#/m.exec(text)?.[0] ?? '', line, `${length} characters`)
  }
  const alarm = messageOf('email', 'member-alarm', { params: { code: '123456' } })
  t.notMatch(withWebotp.viewMail(alarm).text, /@login/, 'what is no code is none')
  const long = rendererFor({
    brand: { name: 'A very long name of a company' },
    sms: { webotpDomain: 'a-long.domain.example.com' },
  })
  const text = smsOf(
    long,
    messageOf('sms', 'phone-update', { params: { code: '12345678', minute: '10' }, locale: 'zh-CN' }),
  )
  t.equal(countSegments(text).segments, 1)
  t.match(text, /12345678/)
})

t.test('to China the words are always the same: neither a shorter variant nor the WebOTP line', async t => {
  const message = messageOf('sms', 'login-code', {
    params: { code: '123456', minute: '10' },
    locale: 'zh-CN',
  })
  const [china, hongKong] = ['+8613800138000', '+85251234567'].map(recipient => ({ ...message, recipient }))
  const full = smsOf(withWebotp, china ?? message)
  t.notMatch(full, /@login/)
  t.match(full, /10/)
  t.match(smsOf(withWebotp, hongKong ?? message), /@login/)
  t.equal(full, smsOf(renderer, china ?? message))
})

t.test('an SMS is data, and is put into words once, when it is asked for its text', async t => {
  const sms = (changes: object, rest: object = {}) => {
    const outgoing = renderer.render(
      messageOf('sms', 'login-code', { params: { code: '123456', minute: '5.5' }, ...changes }, rest),
    )
    if (outgoing.channel !== 'sms') throw new Error('not an SMS')
    return outgoing
  }
  t.match(sms({}), {
    to: '+12025550123',
    country: 'US',
    kind: 'login-code',
    params: { code: '123456', minute: '10' },
    locale: 'en',
  })
  t.match(sms({}, { recipient: '+88216123456' }), { country: 'ZZ' }, 'a number of no country')
  t.match(sms({ locale: 'zh-CN', pluginId: 'p' }), { locale: 'zh-CN', pluginId: 'p' })
  for (const [seconds, minute] of [
    [30, '1'],
    [119, '1'],
    [120, '2'],
  ] as const) {
    const given = messageOf('sms', 'login-code', { params: { code: '123456' } })
    const outgoing = renderer.render({ ...given, expiresAt: given.arrivedAt + seconds * 1000 })
    t.match(outgoing, { params: { minute } }, 'no template says longer than the code lives')
  }
  for (const purpose of ['link', 'file', 'alarm', 'plain'] as const)
    t.strictSame(sms({}, { purpose }).params, { code: '123456', minute: '5.5' }, `${purpose}: as it came`)
  const none = renderer.render(messageOf('sms', 'no-such-kind', { params: {} }))
  t.throws(() => none.channel === 'sms' && none.text(), Unrenderable)
})

t.test('an SMS of more than SMS_MAX_SEGMENTS is refused', async t => {
  const strict = rendererFor({ sms: { maxSegments: 1 } })
  const message = messageOf('sms', 'login-code', { params: { code: 'x'.repeat(150) } })
  t.throws(() => smsOf(strict, message), Unrenderable)
  const fullest = `Northwind: ${'x'.repeat(150)} is your sign-in code. Do not share it. If you are not signing in, ignore this message.`
  t.equal(smsOf(renderer, message), fullest, 'of two segments as all are')
  t.equal(smsOf(rendererFor({ sms: { maxSegments: 2 } }), message), fullest)
})

t.test(
  'the language is the message’s, else the country’s, else the service’s, or the nearest to it',
  async t => {
    const many = rendererFor({
      locale: 'es-MX',
      localeByCountry: new Map([
        ['CN', 'zh-CN'],
        ['HK', 'zh-HK'],
        ['FR', 'fr'],
      ]),
    })
    const said = (recipient: string, locale?: string) =>
      smsOf(
        many,
        messageOf('sms', 'login-code', { params: { code: '1' }, ...(locale && { locale }) }, { recipient }),
      )
    t.match(said('+12025550123'), /codigo/)
    t.match(said('+8613800138000'), /登录/)
    t.match(said('+85251234567'), /登入/)
    t.match(said('+33612345678'), /sign-in/)
    t.match(said('+8613800138000', 'en'), /sign-in/)
    t.same(
      many.problems().map(({ file }) => file),
      ['locales/fr.json'],
      'a language without words is said',
    )
  },
)
