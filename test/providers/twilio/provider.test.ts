import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import t, { type Test } from 'tap'
import type { CarrierFault } from '../../../sandbox/carriers/api-server.ts'
import type { TwilioSettings } from '../../../src/providers/twilio.ts'
import { inEnglish } from '../../language/english.ts'
import { ACCOUNT_SID, startTwilioServer } from '../../rigs/twilio-server.ts'
import { NUMBER, openTwilio, SENDER, sms, twilioError } from './rig.ts'

async function start(t: Test, settings: Partial<TwilioSettings> = {}) {
  const server = await startTwilioServer()
  const provider = openTwilio(server.url, settings)
  t.teardown(async () => Promise.all([provider.close(), server.close()]))
  return { server, send: async (message = sms()) => provider.send(message, new AbortController().signal) }
}

const description = JSON.parse(
  readFileSync(new URL('../../fixtures/twilio/openapi.json', import.meta.url), 'utf8'),
) as {
  readonly paths: Readonly<Record<string, { readonly servers: readonly { readonly url: string }[] }>>
}
const PATH = '/2010-04-01/Accounts/{AccountSid}/Messages.json'
const OPERATION = `openapi#/paths/${PATH.replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D')}/post`

function validators() {
  // A form's fields are text: numbers and booleans are read from it. Unknown fields are not allowed, so that a
  // misspelt one is found.
  const ajv = new Ajv({ coerceTypes: true, allErrors: true, strict: false, discriminator: false })
  addFormats.default(ajv)
  ajv.addFormat('phone-number', true)
  ajv.addSchema(description, 'openapi')
  const reference = `${OPERATION}/requestBody/content/application~1x-www-form-urlencoded/schema`
  const schema = ajv.getSchema(reference)?.schema as { properties: Record<string, unknown> } | undefined
  const known = Object.keys(schema?.properties ?? {})
  const request = ajv.compile({ allOf: [{ $ref: reference }], propertyNames: { enum: known } })
  const accountSid = ajv.compile({ $ref: `${OPERATION}/parameters/0/schema` })
  return { request, accountSid, errors: () => ajv.errorsText(request.errors) }
}

await t.test("the SDK's requests agree with Twilio's published description", async t => {
  const { request, accountSid, errors } = validators()
  t.equal(request({ To: NUMBER, NoSuchField: '1' }), false, 'the check can fail')
  t.equal(request({ From: NUMBER }), false, 'To is needed')
  t.equal(request({ To: NUMBER, ValidityPeriod: 'soon' }), false)
  t.equal(description.paths[PATH]?.servers[0]?.url, 'https://api.twilio.com')

  const service = { messagingServiceSid: `MG${'0123456789abcdef'.repeat(2)}` }
  const statusCallback = (id: string): string => `https://courier.example.com/callback/twilio/${id}`
  const { server, send } = await start(t, { statusCallback })
  const other = await start(t, { sender: service })
  t.match(await send(), { is: 'sent' })
  t.match(await send(sms(NUMBER, { sender: service })), { is: 'sent' })
  const named = sms(NUMBER, { sender: { from: 'Courier' }, text: () => '验证码 123456'.repeat(20) })
  t.match(await send(named), { is: 'sent' })
  t.match(await other.send(), { is: 'sent' })

  for (const { method, url, form, headers, username, authorized } of [
    ...server.requests,
    ...other.server.requests,
  ]) {
    t.equal(method, 'POST')
    t.equal(url, PATH.replace('{AccountSid}', ACCOUNT_SID))
    t.ok(accountSid(url.split('/')[3]))
    t.ok(request({ ...form }), errors())
    t.equal(headers['content-type'], 'application/x-www-form-urlencoded')
    t.match(headers['user-agent'], /^twilio-node\/6\./)
    t.equal(username, ACCOUNT_SID)
    t.ok(authorized)
  }
  const [first, second, third] = server.requests
  t.match(first?.form, { To: NUMBER, From: SENDER.from, StatusCallback: /\/callback\/twilio\/[0-9a-f]{32}$/ })
  t.match(second?.form, { MessagingServiceSid: service.messagingServiceSid })
  t.notOk(second?.form['From'])
  t.match(third?.form, { From: 'Courier', Body: '验证码 123456'.repeat(20) })
  t.match(other.server.requests[0]?.form, { MessagingServiceSid: service.messagingServiceSid })
})

await t.test('ValidityPeriod is what is left when it is sent, within Twilio’s bounds', async t => {
  const at = 1_790_000_000_000
  const { server, send } = await start(t, { clock: { now: () => at } })
  for (const leftMs of [90_000, 90_999, 1_000, 1_999, 999, 1, 36_000_000, 99_000_000])
    t.match(await send(sms(NUMBER, { expiresAt: at + leftMs })), { is: 'sent' })
  const periods = server.requests.map(({ form }) => form['ValidityPeriod'])
  t.strictSame(periods, ['90', '90', '1', '1', '1', '1', '36000', '36000'])
  for (const leftMs of [0, -5_000])
    t.match(await send(sms(NUMBER, { expiresAt: at + leftMs })), { untouched: true, code: 'expired' })
  t.equal(server.requests.length, 8, 'what is over is not handed over')
})

const raw = (status: number, body: string, headers: Readonly<Record<string, string>> = {}) =>
  ({ is: 'answer', status, body, headers }) as const
const json = (status: number, body: unknown) => raw(status, JSON.stringify(body))
const later = { is: 'retry', whose: 'later' }
const ours = { is: 'retry', whose: 'ours' }
const ambiguous = { is: 'ambiguous' }

await t.test('a message that was made and failed in the same answer was not sent', async t => {
  const { server, send } = await start(t)
  const made = (status: string, error_code: number | null, error_message: string | null) =>
    json(201, { sid: `SM${'0'.repeat(32)}`, status, error_code, error_message, to: NUMBER })
  for (const [status, code, outcome] of [
    ['failed', 30005, { is: 'rejected', code: '30005', reply: 'failed: words of Twilio' }],
    ['undelivered', 30003, { is: 'rejected', scope: 'recipient' }],
    ['failed', 21408, { is: 'rejected', scope: 'country' }],
    ['failed', 20003, ours],
    ['failed', 29_999, ours],
    ['failed', null, { ...later, code: 'failed' }],
    ['canceled', null, later],
    ['queued', null, { is: 'sent' }],
    ['accepted', null, { is: 'sent' }],
  ] as const) {
    server.fault = () => made(status, code, code === null ? null : 'words of Twilio')
    t.match(inEnglish(await send()), outcome, `${status} ${code}`)
  }
  server.fault = () => made('failed', 30005, `no such handset ${NUMBER} 60718293`)
  t.notMatch((await send()).reply, /15005550010|60718293/)
})

await t.test('a refusal that one number alone may meet says so', async t => {
  const { server, send } = await start(t)
  // T-Mobile counts a brand's messages, and no other network does.
  for (const [outcome, ...codes] of [
    [{ ...ours, scope: 'recipient' }, 21606, 21608, 21612, 21703],
    [{ is: 'limit', scope: 'message' }, 30023, 30027],
    [{ ...ours, scope: 'sender' }, 21704],
  ] as const)
    for (const code of codes) {
      server.fault = () => twilioError(400, code)
      t.match(await send(), outcome, String(code))
    }
})

await t.test('sender and country of a message are named', async t => {
  const provider = openTwilio('http://127.0.0.1:1')
  t.teardown(async () => provider.close())
  t.match(provider.scopesOf?.(sms()), { country: 'US', sender: /./ })
  const service = { messagingServiceSid: 'MG1' }
  t.same(provider.scopesOf?.(sms(undefined, { sender: service })), { country: 'US', sender: 'MG1' })
})

await t.test('each answer, and what is none, is an outcome', async t => {
  t.jobs = 8
  const rejected = (scope: string, code: string) => ({ is: 'rejected', scope, code })
  const rows: readonly (readonly [CarrierFault, Record<string, unknown>])[] = [
    [twilioError(400, 21614), rejected('recipient', '21614')],
    [twilioError(400, 21602), rejected('message', '21602')],
    [twilioError(401, 20003), ours],
    [twilioError(400, 29_999), { ...ours, code: '29999' }],
    [json(400, {}), { ...ours, code: 'http-400' }],
    [json(400, { type: 'x', title: 'Bad', status: 400, code: 21211 }), { is: 'rejected' }],
    [json(400, { code: '21211', message: 'x' }), rejected('recipient', '21211')],
    [json(400, { code: { a: 1 }, message: ['x'] }), ours],
    [raw(403, '<html>no</html>'), { ...ours, code: 'http-403' }],
    [raw(429, '', { 'retry-after': '3' }), { ...later, retryAfterMs: 3_000, overload: 'requests' }],
    [twilioError(429, 20429, '', { 'retry-after': '3' }), { ...later, code: '20429', retryAfterMs: 3_000 }],
    [twilioError(429, 21610), later],
    [
      twilioError(503, 20503, '', { 'retry-after': '3' }),
      { ...later, retryAfterMs: 3_000, overload: undefined },
    ],
    [twilioError(500, 29_999), ambiguous],
    [raw(502, '<html>bad gateway</html>', { 'content-type': 'text/html' }), ambiguous],
    [raw(504, ''), ambiguous],
    [raw(201, 'null'), ambiguous],
    [raw(201, '<html>welcome</html>'), ambiguous],
    [raw(200, '{"sid":"SM'), ambiguous],
    [json(201, { status: 'queued' }), ambiguous],
    [raw(307, '', { location: 'http://127.0.0.1:1/' }), { ...ours, code: 'http-307' }],
    [raw(201, 'x'.repeat(300 * 1024)), ambiguous],
    [{ is: 'half' }, ambiguous],
  ]
  await Promise.all(
    rows.map(async ([fault, expected]) =>
      t.test(JSON.stringify(fault).slice(0, 80), { buffered: true }, async t => {
        const { server, send } = await start(t)
        server.fault = () => fault
        t.match(await send(), expected)
        t.equal(server.requests.length, 1, 'asked once')
        server.fault = undefined
        t.match(await send(), { is: 'sent' }, 'the next one goes out')
      }),
    ),
  )
})

await t.test('the environment neither redirects nor logs', async t => {
  const before = { ...process.env }
  t.teardown(() => {
    process.env = before
  })
  Object.assign(process.env, {
    TWILIO_REGION: 'ie1',
    TWILIO_EDGE: 'dublin',
    TWILIO_LOG_LEVEL: 'debug',
    HTTP_PROXY: 'http://127.0.0.1:1',
    HTTPS_PROXY: 'http://127.0.0.1:1',
  })
  const { server, send } = await start(t)
  t.match(await send(), { is: 'sent' })
  t.equal(`http://${server.requests[0]?.headers.host}`, server.url)
})
