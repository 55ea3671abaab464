import { createHash, createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { Ajv } from 'ajv'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { readExample } from '../../../sandbox/carriers/http-gateway.ts'
import {
  createGatewayReceipts,
  findText,
  type GatewayAnswer,
  gatewayOutcome,
} from '../../../src/providers/http-gateway/answers.ts'
import { parseGateways } from '../../../src/providers/http-gateway/definition.ts'
import { httpGateway } from '../../../src/providers/http-gateway/gateway.ts'
import schema from '../../../src/providers/http-gateway/gateways.schema.json' with { type: 'json' }
import { modulesOf } from '../../../src/providers/list.ts'
import { createRedactor } from '../../../src/providers/redact.ts'
import { NO_TEMPLATES } from '../../../src/providers/sms-templates.ts'
import { parseJson } from '../../../src/runtime/json-object.ts'
import { enough, faultsIn, load } from '../../config/settings.ts'
import { inEnglish } from '../../language/english.ts'
import { listen } from '../../rigs/listen.ts'
import { CODE } from '../carrier.ts'
import { judgementOf } from '../sms.ts'
import { EXAMPLES, type Example, gatewayOf, NUMBER, open, sms, startServer } from './rig.ts'

/** What an entry of a file's codes comes to, scope and all. */
function expectedOf(meaning: NonNullable<GatewayAnswer['codes']>[string]): ReturnType<typeof judgementOf> {
  if (typeof meaning === 'object') {
    if ('is' in meaning) return { verdict: meaning.is, scope: meaning.scope }
    return { verdict: 'limit', scope: meaning.limit === 'number' ? 'recipient' : meaning.limit }
  }
  if (meaning === 'unreachable-here') return { verdict: 'recipient', scope: 'recipient' }
  const usual = { content: 'message', ours: 'message', later: 'account', ambiguous: 'transport' }
  return { verdict: meaning, scope: usual[meaning as keyof typeof usual] ?? meaning }
}

/** Settings of both channels, without a carrier of SMS. */
const { TWILIO_ACCOUNT_SID: _s, TWILIO_AUTH_TOKEN: _a, TWILIO_FROM: _f, ...alone } = enough
const abort = () => new AbortController().signal
/** A file with one gateway, `g`. */
const file = (gateway: Readonly<Record<string, unknown>>): string => stringify({ g: gateway })

/** A provider by a file with one gateway, for as long as the test lasts. */
function openFile(
  t: Test,
  gateway: Readonly<Record<string, unknown>>,
  secrets: Readonly<Record<string, string>> = {},
  changes: Parameters<typeof open>[2] = {},
) {
  const provider = open(gatewayOf(file(gateway)), secrets, changes)
  t.teardown(() => provider.close())
  return provider
}

/** A server that takes everything, and keeps what it got. */
async function startSink(t: Test, answer = '{"id":"m1"}', status = 200) {
  const got: {
    method?: string | undefined
    url?: string | undefined
    headers: http.IncomingHttpHeaders
    body: string
  }[] = []
  const server = http.createServer(async (request, response) => {
    const { method, url, headers } = request
    got.push({ method, url, headers, body: await readText(request) })
    response.writeHead(status, { location: '/elsewhere' }).end(answer)
  })
  const port = await listen(t, server)
  return { url: `http://127.0.0.1:${port}`, got }
}

t.test(
  'whatever a message says stays a value, in every kind of body, in the URL and in a header',
  async t => {
    const nasty = `"\\&<>'{{ secrets.key }}\r\nX: y%0a=1&to=2 中文😀\u0000`
    const { url, got } = await startSink(t)
    const send = async (request: Readonly<Record<string, unknown>>) => {
      const provider = openFile(t, { request: { url: `${url}/send`, ...request } }, { key: 'k:1' })
      t.match(await provider.send(sms({ text: () => nasty }), abort()), { is: 'sent' })
      const last = got.at(-1)
      if (last === undefined) throw new Error('nothing came')
      return last
    }
    const json = await send({ json: '{"a": {"t": "{{ text }}", "n": {{ number }}, "s": {{ seconds }} }}' })
    t.match(JSON.parse(json.body), { a: { t: nasty, n: Number(NUMBER.slice(1)), s: Number } })
    t.match(json.headers, { 'content-type': 'application/json' })
    const form = await send({ form: { text: '{{ text }}', to: '{{ to }}', none: '{{ sender }}' } })
    t.same(Object.fromEntries(new URLSearchParams(form.body)), { text: nasty, to: NUMBER })
    const xml = await send({
      xml: '<m a="{{ text }}">{{ text }}</m>',
      headers: { 'Content-Type': 'text/xml' },
    })
    const inside = /^<m a="([^"<>]*)">([^<>]*)<\/m>$/.exec(xml.body)
    t.ok(inside, xml.body)
    t.equal(inside?.[1], inside?.[2])
    t.equal(xml.headers['content-type'], 'text/xml')
    const query = await send({ url: `${url}/send?to={{ number }}&text={{ text }}`, method: 'GET' })
    t.equal(new URL(query.url ?? '', url).searchParams.get('text'), nasty)
    t.equal(query.method, 'GET')
    const header = await send({
      headers: { 'x-text': '{{ text }}', authorization: 'Basic {{ secrets.key | base64_encode }}' },
      json: '{}',
    })
    t.equal(header.headers['x'], undefined)
    t.match(header.headers, { 'x-text': /^[\x20-\x7e]+$/, authorization: `Basic ${btoa('k:1')}` })
  },
)

t.test('what a message leaves open is empty, and what is left of its life is a second at least', async t => {
  const { url, got } = await startSink(t)
  const form = {
    left: '{{ minutes }} min, {{ seconds }} s',
    sender: '{% if sender %}by {{ sender }}{% endif %}',
    report: '{% if report_url %}to {{ report_url }}{% endif %}',
  }
  const at = 1_790_000_000_000
  const provider = openFile(
    t,
    { request: { url, form } },
    {},
    { clock: { now: () => at }, reportUrl: undefined },
  )
  for (const leftMs of [179_999, 59_999, 500])
    await provider.send(sms({ expiresAt: at + leftMs, sender: undefined }), abort())
  const forms = got.map(({ body }) => Object.fromEntries(new URLSearchParams(body)))
  t.same(forms, [{ left: '2 min, 179 s' }, { left: '1 min, 59 s' }, { left: '1 min, 1 s' }])
})

t.test(
  'preview says what is sent, without a secret, where that is neither a text nor a template',
  async t => {
    const saying = (json: string) =>
      openFile(t, { request: { url: 'https://sms.example.com/v1?to={{ number }}', json } }, { key: 'canary' })
    const plain = saying('{"code": "{{ params.code }}", "key": "{{ secrets.key }}"}')
    t.equal(
      plain.requestOf?.(sms()),
      'POST https://sms.example.com/v1?to=447400112233 {"code": "607182", "key": "secrets.key"}',
    )
    t.equal(
      plain.requestOf?.(sms({ params: {} })),
      'its request says params.code, which the message does not have',
    )
    for (const name of ['text', 'template.id'])
      t.equal(saying(`{"t": "{{ ${name} }}"}`).requestOf?.(sms()), null, name)
    t.equal(saying('{"t": {{ unicode }}}').requestOf?.(sms()), null)
  },
)

t.test('numbers and switches are said as such, whatever else a request says', async t => {
  const { url, got } = await startSink(t)
  const json = '{"unicode": {{ unicode }}, "seconds": {{ seconds }}, "minutes": {{ minutes }}}'
  for (const [text, unicode] of [
    ['code 1', false],
    ['验证码 1', true],
  ] as const) {
    const provider = openFile(t, { request: { url, json } }, {}, { clock: { now: () => 0 } })
    await provider.send(sms({ text: () => text, expiresAt: 90_000 }), abort())
    t.same(JSON.parse(got.at(-1)?.body ?? ''), { unicode, seconds: 90, minutes: 1 })
  }
})

t.test('a code of letters is taken out of what a gateway says', async t => {
  const { url } = await startSink(t, `{"pad":"${'x'.repeat(4096)}","code":"x","why":"QWERTY is a word"}`)
  const answer = { code: '/code', words: '/why', codes: { x: 'ours' } }
  const provider = openFile(t, { request: { url, json: '{}' }, answer })
  t.match(inEnglish(await provider.send(sms({ params: { code: 'QWERTY' } }), abort())), {
    reply: '… is a word',
  })
})

t.test('what a file leaves open, and what only its check needs', async t => {
  const request = { url: 'https://sms.example.com?to=1', json: '{}' }
  const plain = gatewayOf(file({ request }))
  t.equal(plain.origin, 'https://sms.example.com')
  t.match(plain, { channel: 'sms', concurrency: 20, limits: { answerMs: 10_000 }, secrets: [] })
  const check = 'https://sms.example.com/balance?key={{ secrets.key }}'
  t.same(gatewayOf(file({ request, check })).secrets, ['key'])
  const codes = { '1': { limit: 'number', minutes: 10_080 } }
  t.match(parseGateways(file({ request, answer: { codes } })), { value: [{ name: 'g' }] })
})

t.test('what a file may hold is said by a JSON schema, which no start proves again', async t => {
  t.equal(new Ajv({ strict: false }).validateSchema(schema), true)
})

t.test(
  'no value leads a request elsewhere: in a path it is one part, and none that is a step up',
  async t => {
    const { url, got } = await startSink(t)
    const send = (place: string, code: string) =>
      openFile(t, { request: { url: `${url}${place}`, json: '{}' } }).send(sms({ params: { code } }), abort())
    for (const [place, code] of [
      ['/v1/{{ params.code }}/send', '..'],
      ['/v1/{{ params.code }}', '.'],
      ['/v1/.{{ params.code }}?x=1', '.'],
    ] as const)
      t.match(await send(place, code), {
        code: 'no-template',
        reply: /^its request has \. or \.\./,
        untouched: true,
      })
    t.equal(got.length, 0)
    t.match(await send('/发送\ud83d a/{{ params.code }}?to={{ params.code }}', '../x?y#\ud83d'), {
      is: 'sent',
    })
    t.match(await send('?to=/{{ params.code }}', '1'), { is: 'sent' })
    t.equal(got[1]?.url, '/?to=/1')
    t.equal(got[0]?.url, '/%E5%8F%91%E9%80%81%EF%BF%BD%20a/..%2Fx%3Fy%23%EF%BF%BD?to=..%2Fx%3Fy%23%EF%BF%BD')
  },
)

t.test(
  'an expression that some answer could make run wild is refused, and others see 4,096 characters',
  async t => {
    for (const wild of [
      '^(?:\\w+\\s?)+;code=(\\d+)$',
      '<a>(?:a|a)+(b)</a>',
      '(?:a|aa){1,99}(b)',
      '(?:a?a?)*(b)',
      'a*a*a*a*a*(b)',
      '(?=(a+))\\1*(?:a|a)+(b)',
    ])
      t.match(parseGateways(file({ request: { url: 'https://sms.example.com/' }, answer: { code: wild } })), {
        fault: /answer\/code repeats more than one thing, or a group/,
      })
    t.equal(findText('<id>(.+)</id>', { text: '<id>7</id>', json: undefined }), '7')
    t.equal(findText('/1000', { text: '', json: [...Array<string>(1000), 'x'] }), 'x')
    for (const [before, found] of [
      [4090, '1'],
      [4091, ''],
    ] as const)
      t.equal(findText('code=(1)', { text: `${' '.repeat(before)}code=1`, json: undefined }), found)
  },
)

t.test('a file that cannot be used says which gateway, where and why, and quotes no value', async t => {
  const record = readFileSync(join(import.meta.dirname, '../../fixtures/gateway-faults.txt'), 'utf8')
  for (const line of record.trimEnd().split('\n')) {
    const [text = '', fault = ''] = line.split(' ⇒ ')
    t.same(inEnglish(parseGateways(String(JSON.parse(text)))), { fault }, text)
    t.notMatch(fault, 'canary')
  }
  t.match(faultsIn({ ...enough, SMS_GATEWAYS: '[]' }), [/^SMS_GATEWAYS line 1/])
})

t.test(
  'each of a file is a carrier by its own name: in routes, and with the secrets that it needs',
  async t => {
    const gateways = `${readExample('vonage', 'https://rest.nexmo.com')}\n${readExample('infobip', 'https://x.api.infobip.com')}`
    const secrets = JSON.stringify({ ...EXAMPLES.vonage.secrets, ...EXAMPLES.infobip.secrets })
    const given = { ...alone, SMS_GATEWAYS_FILE: 'g.yaml', SMS_GATEWAY_SECRETS_FILE: 's.json' }
    const files = { 'g.yaml': gateways, 's.json': secrets }
    t.match(faultsIn(given, files), [/^SMS_ROUTES is missing.*SMS_ROUTES=\*=vonage,infobip$/])
    const routes = { ...given, SMS_ROUTES: 'GB=infobip; *=vonage,infobip' }
    t.same(faultsIn(routes, files), [])
    t.match(modulesOf(load(routes, files)).slice(-2), [{ name: 'vonage' }, { name: 'infobip' }])
    t.match(faultsIn({ ...given, SMS_ROUTES: '*=vonge' }, files), [/choose from .*vonage, infobip/])
    t.match(faultsIn({ ...routes, SMS_GATEWAY_SECRETS_FILE: '' }, files), [
      /^SMS_GATEWAY_SECRETS is missing: vonage needs secrets.vonage_key/,
      /vonage_secret/,
      /infobip needs secrets.infobip_key/,
    ])
    for (const text of ['[]', '{"a": 1}', '{"a b": "c"}', '"x"', '{'])
      t.match(faultsIn({ ...routes, SMS_GATEWAY_SECRETS_FILE: '', SMS_GATEWAY_SECRETS: text }, files), [
        /^SMS_GATEWAY_SECRETS must be JSON/,
      ])
    const taken = readExample('vonage', 'https://rest.nexmo.com', 'aliyun')
    t.match(faultsIn({ ...routes, SMS_ROUTES: '*=aliyun' }, { ...files, 'g.yaml': taken }), [
      /^SMS_GATEWAYS_FILE calls a carrier aliyun/,
    ])
  },
)

t.test('what an answer means follows the file, and HTTP where that says nothing', async t => {
  const answer = {
    id: '/id',
    code: ['/code', 'ERR: (\\d+)'],
    words: '/why',
    codes: {
      '0': 'ok',
      '7': 'recipient',
      '8': { limit: 'sender', minutes: 1 },
      '9': { limit: 'number', minutes: 30 },
      'B*': 'ours',
      B1: 'recipient',
      'http-402': 'ours',
      'http-503': 'later',
    },
  } as const
  const outcome = (status: number, body: unknown, changes: object = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const reply = { status, text, json: typeof body === 'string' ? undefined : body, retryAfter: '7' }
    return gatewayOutcome({ ...answer, ...changes }, reply, createRedactor({ to: NUMBER }, [CODE]), 0)
  }
  t.match(outcome(200, { id: 'm1' }), { is: 'sent', providerId: 'm1' })
  t.match(outcome(201, { code: 0, id: 12 }), { is: 'sent', providerId: '12' })
  t.match(outcome(200, { code: 0 }), { is: 'ambiguous', code: 'no-id' })
  t.match(outcome(200, { code: 0 }, { id: undefined }), { is: 'sent' })
  t.match(outcome(200, { id: 'x'.repeat(65) }), { is: 'ambiguous' }, 'more than can be kept')
  t.match(outcome(200, { code: 7, why: `to ${NUMBER}: ${CODE}` }), {
    is: 'rejected',
    scope: 'recipient',
    code: '7',
  })
  t.notMatch(JSON.stringify(outcome(200, { code: 7, why: `to ${NUMBER}: ${CODE}` })), /607182|7400112233/)
  for (const code of [`bad:${NUMBER.slice(1)}`, `X${CODE}Y`, NUMBER.slice(-8)])
    t.match(inEnglish(outcome(400, { code })), { code: 'unreadable-code', reply: 'unreadable-code' }, code)
  t.match(outcome(200, { code: 9 }), { is: 'limit', scope: 'recipient', retryAfterMs: 1_800_000 })
  t.match(outcome(200, { code: 8 }), { is: 'limit', scope: 'sender', retryAfterMs: 60_000 })
  t.match(outcome(200, { code: 'B1' }), { is: 'rejected' }, 'an entry of its own comes first')
  t.match(outcome(200, { code: 'AB' }), { is: 'ambiguous' }, 'one that only ends so is another code')
  t.match(outcome(200, 'ERR: 7'), { is: 'rejected' }, 'of text, too')
  t.match(outcome(403, { code: 'BAD' }), { is: 'retry', whose: 'ours', code: 'BAD' })
  t.match(outcome(200, { code: 'new' }), { is: 'ambiguous', code: 'new' })
  t.match(outcome(200, { code: 'new' }, { otherwise: 'ours' }), { is: 'retry', whose: 'ours' })
  t.match(outcome(200, { code: '\u0000\n' }), { is: 'ambiguous', code: 'unreadable-code' })
  t.match(outcome(500, { code: 0, id: 'm' }), { is: 'ambiguous', code: '0' }, 'ok counts with HTTP 2xx alone')
  t.match(outcome(400, ''), { is: 'retry', whose: 'ours', code: 'http-400' })
  t.match(outcome(302, ''), { is: 'retry', whose: 'ours' })
  t.match(outcome(429, ''), { is: 'retry', whose: 'later', retryAfterMs: 7000, overload: 'requests' })
  t.match(outcome(402, ''), { is: 'retry', whose: 'ours', code: 'http-402' })
  t.match(outcome(503, ''), { is: 'retry', whose: 'later' })
  t.match(outcome(500, '<html>'), { is: 'ambiguous' })
  t.match(outcome(200, { code: 'toString' }), { is: 'ambiguous' }, 'nothing of Object itself')
})

for (const example of Object.keys(EXAMPLES) as Example[])
  t.test(
    `${example}: the example sends what a phone shows, and every code of it has its outcome`,
    async t => {
      const { dialect, secrets, shows, templates = NO_TEMPLATES } = EXAMPLES[example]
      const server = await startServer(dialect)
      t.teardown(() => server.standIn.close())
      const gateway = gatewayOf(readExample(example, server.url))
      const provider = open(gateway, secrets, { templates })
      t.teardown(() => provider.close())
      const text = '您的验证码为607182 "\\ &'
      const message = sms({ text: () => text, sender: { from: 'Courier' } })
      t.match(await provider.send(message, abort()), { is: 'sent', providerId: /^[^"]{12,}$/ })
      t.match(server.standIn.messages, [{ to: NUMBER, ...shows(text), ref: message.id }])
      if (example === 'infobip' || example === 'android-phone') {
        t.match(await provider.send(message, abort()), { is: 'sent' })
        t.equal(server.standIn.messages.length, 1, 'a repeat after a lost answer is known by its id')
      }
      const inBase64 = Buffer.from(NUMBER.slice(1, 10)).toString('base64')
      t.notMatch(JSON.stringify(await provider.send(sms(), abort())), inBase64, 'as in the ids of Meta')
      for (const [code, meaning] of Object.entries(gateway.answer.codes ?? {})) {
        server.fault = () => ({ is: 'answer', ...dialect.refusal(code.replace('*', 'X')) })
        const outcome = await provider.send(sms(), abort())
        const told = JSON.stringify(outcome)
        if (meaning === 'ok') t.match(told, /"sent"|no-id/, code)
        else t.match(judgementOf(outcome), expectedOf(meaning), code)
      }
      const [taken] = server.standIn.messages
      if (taken === undefined || gateway.reports === undefined) throw new Error('nothing to report on')
      const reports = createGatewayReceipts('g', gateway.reports, ['key'])
      const read = (body: unknown) => reports.parseReports({ headers: {}, body, query: '' })
      const good = { providerId: taken.id, id: message.id, status: 'delivered', errorCode: null }
      t.same(read(dialect.report(taken, true)), [good])
      const errorCode = gateway.reports.code === undefined ? null : /./
      t.match(read(dialect.report(taken, false)), [{ ...good, status: 'undelivered', errorCode }])
      for (const garbage of [null, 7, [[]], { results: {} }, { results: [null, 7] }, { messageId: {} }])
        t.same(read(garbage), [], JSON.stringify(garbage))
    },
  )

t.test('our id may also stand in the URL of a report; a list of reports is read whole', async t => {
  const [ours, other] = ['a'.repeat(32), 'b'.repeat(32)]
  const reports = { id: '/m', ref: '/r', state: '/s', states: { ok: 'delivered' }, format: 'query' } as const
  const source = createGatewayReceipts('g', reports, ['key'])
  const read = (body: unknown, query: string) => source.parseReports({ headers: {}, body, query })
  t.match(read({ m: '1', s: 'ok' }, `id=${ours}&x=1`), [{ providerId: '1', id: ours }])
  t.match(read({ m: '1', s: 'ok', r: ours }, `id=${other}`), [{ id: ours }], 'that of the report counts')
  const list = ['ok', 'new', 'ok'].map((s, at) => ({ m: at + 1, s }))
  t.match(read(list, `xid=${other}`), [{ providerId: '1', id: undefined }, { providerId: '3' }])
  t.same(read({ m: '1', s: 'constructor' }, ''), [])
})

t.test('no redirect is followed, and a template carrier gets its template', async t => {
  const { url, got } = await startSink(t, 'moved', 307)
  const moved = openFile(t, { request: { url, json: '{"t": "{{ text }}"}' } })
  t.match(await moved.send(sms(), abort()), { is: 'retry', whose: 'ours', code: 'http-307' })
  t.equal(got.length, 1)
  t.equal(got[0]?.url, '/')

  const request = {
    url,
    json: '{"t": "{{ template.id }}{% if template.signature %}signed{% endif %}", "v": ["{{ template.params.c }}"], "p": "{{ params.code }}"}',
  }
  const text = (): string => t.fail('a gateway with templates asks for no text') as never
  const templates = { templateFor: () => ({ template: 'T1', params: { c: CODE } }) }
  const mapped = openFile(t, { request }, {}, { templates })
  t.equal(mapped.fits?.(sms({ text })), null)
  await mapped.send(sms({ text }), abort())
  const signed = { templateFor: () => ({ template: 'T2', signature: '示例', params: { c: CODE } }) }
  const other = openFile(t, { request }, {}, { templates: signed })
  const named = [{}, { sender: { from: 'Courier' } }, { sender: { messagingServiceSid: 'MG1' } }].map(each =>
    [mapped, other].map(provider => provider.scopesOf?.(sms(each))),
  )
  const [bare, full] = [
    { template: 'T1', sender: undefined, country: 'GB' },
    { template: 'T2', sender: '示例', country: 'GB' },
  ]
  const from = { sender: 'Courier' }
  t.same(named, [
    [bare, full],
    [
      { ...bare, ...from },
      { ...full, ...from },
    ],
    [bare, full],
  ])
  const unnamed = openFile(t, { request: { url, json: '{}' } })
  t.same(unnamed.scopesOf?.(sms({ sender: { from: 'Courier' } })), { ...from, country: 'GB' })
  t.same(openFile(t, { request }).scopesOf?.(sms()), { country: 'GB' }, 'it sends none')
  t.same(JSON.parse(got.at(-1)?.body ?? ''), { t: 'T1', v: [CODE], p: CODE })
  const misfit = mapped.fits?.(sms({ params: {} }))
  t.equal(String(misfit), 'its request says params.code, which the message does not have')
  t.match(openFile(t, { request }).fits?.(sms()), /SMS_TEMPLATES_FILE names no templates/)
})

t.test('check says whether the login works, or that nobody can know', async t => {
  const { dialect, secrets } = EXAMPLES.vonage
  const server = await startServer(dialect)
  t.teardown(() => server.standIn.close())
  const run = async (changes: Readonly<Record<string, string>>) => {
    const config = load({
      ...alone,
      SMS_GATEWAYS: readExample('vonage', server.url),
      SMS_GATEWAY_SECRETS: JSON.stringify(secrets),
      ...changes,
    })
    const [module] = httpGateway.members(config)
    const options = { clock: { now: Date.now }, templates: NO_TEMPLATES, limits: module?.limits ?? {} }
    const [provider] = (await module?.open(config, options)) ?? []
    if (module === undefined || provider === undefined) throw new Error('no gateway')
    const results = await module.check(config, provider, NO_TEMPLATES)
    await provider.close()
    return inEnglish(results)
  }
  t.match(await run({ PUBLIC_URL: 'https://c.example.com' }), [
    { is: 'ok', about: 'vonage', what: 'the login works' },
    { is: 'ok', about: 'receipts' },
  ])
  const wrong = await run({
    SMS_GATEWAY_SECRETS: JSON.stringify({ vonage_key: 'k', vonage_secret: 'canary' }),
  })
  t.match(wrong, [{ is: 'fail', about: 'vonage', what: 'http-401' }, { is: 'warn' }])
  t.notMatch(JSON.stringify(wrong), 'canary')
  const blind = await run({ SMS_GATEWAYS: file({ request: { url: server.url, json: '{}' } }) })
  t.match(blind, [{ is: 'ok', what: /shows with the first SMS/ }])
  t.match(await run({ SMS_GATEWAYS: readExample('vonage', 'http://127.0.0.1:1') }), [
    { is: 'fail', what: 'nothing listens at 127.0.0.1:1' },
    {},
  ])
})

t.test('digests that gateways sign with, the moment and a word of chance', async t => {
  const { url, got } = await startSink(t)
  const form = {
    md5: '{{ number | md5 }}',
    sha1: '{% capture all %}to{{ number }}{% endcapture %}{{ all | append: secrets.key | sha1 }}',
    hmac: '{{ number | hmac_sha1: secrets.key }}',
    wsse: '{{ nonce | append: now | append: secrets.key | sha256 | base64_encode }}',
    nonce: '{{ nonce }}',
    now: '{{ now }}',
  }
  const provider = openFile(t, { request: { url, form } }, { key: 'k1' })
  await provider.send(sms(), abort())
  await provider.send(sms(), abort())
  const [first, second] = got.map(({ body }) => Object.fromEntries(new URLSearchParams(body)))
  const hash = (name: string, text: string) => createHash(name).update(text).digest('hex')
  t.match(first, {
    md5: hash('md5', NUMBER.slice(1)),
    sha1: hash('sha1', `to${NUMBER.slice(1)}k1`),
    hmac: createHmac('sha1', 'k1').update(NUMBER.slice(1)).digest('hex'),
    wsse: Buffer.from(hash('sha256', `${first?.['nonce']}${first?.['now']}k1`)).toString('base64'),
    now: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  })
  t.not(first?.['nonce'], second?.['nonce'])
})

t.test('reports: any other state, JSON in a field of a form, the reply, ids of 64 bits', async t => {
  const rules = { id: '/sid', ref: '/uid', state: '/state', code: '/why' }
  const states = { SUCCESS: 'delivered', 'HELD_*': 'sent', '*': 'undelivered' } as const
  const codes = { 'DB:*': { is: 'ours', scope: 'sender' } } as const
  const form = { format: 'form', field: 'all', reply: 'SUCCESS' } as const
  const source = createGatewayReceipts('g', { ...rules, states, codes, ...form }, ['k'])
  t.equal(source.taken, 'SUCCESS')
  const ours = '0'.repeat(32)
  const text = `[{"sid":9223372036854775807,"uid":"${ours}","state":"SUCCESS"},{"sid":2,"state":"FAIL","why":"DB:0103"},{"sid":3,"state":"HELD_1"},{"sid":4,"state":"FAIL","why":"?"}]`
  const mended = { verdict: 'ours', scope: 'sender', reason: null }
  const unlisted = { verdict: 'later', scope: 'message', reason: null }
  const failed = { id: undefined, status: 'undelivered' }
  const expected = [
    { providerId: '9223372036854775807', id: ours, status: 'delivered', errorCode: null },
    { ...failed, providerId: '2', errorCode: 'DB:0103', fault: mended },
    { providerId: '3', id: undefined, status: 'sent', errorCode: null },
    { ...failed, providerId: '4', errorCode: '?', fault: unlisted },
  ]
  for (const all of [text, encodeURIComponent(text)])
    t.same(source.parseReports({ headers: {}, query: '', body: { all } }), expected)
  for (const all of ['', '%', '%zz', 'null', undefined, {}])
    t.same(source.parseReports({ headers: {}, query: '', body: { all } }), [])
  const unknown: string[] = []
  const strict = createGatewayReceipts('g', { ...rules, states: { SUCCESS: 'delivered' } }, ['k'])
  t.same(strict, { path: '/receipt/g', keys: ['k'], format: 'json', parseReports: strict.parseReports })
  const body = [
    { sid: 'a', state: 'HELD' },
    { sid: 'b', state: '' },
    { sid: '', state: 'LOST' },
  ]
  const read = strict.parseReports({ headers: {}, query: '', body }, state => unknown.push(state))
  t.same([read, unknown], [[], ['HELD']])
  const json = parseJson('{"id":9007199254740993,"code":0}')
  const reply = { status: 200, retryAfter: undefined, text: '', json }
  const answer = { id: '/id', code: '/code', codes: { '0': 'ok' } } as const
  t.match(gatewayOutcome(answer, reply, createRedactor({ to: NUMBER }), 0), {
    providerId: '9007199254740993',
  })
})
