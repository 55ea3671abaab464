import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import t from 'tap'
import { createTwilioStandIn } from '../../../sandbox/carriers/twilio.ts'

const SID = 'AC0123456789abcdef0123456789abcdef'
const description = JSON.parse(
  readFileSync(new URL('../../fixtures/twilio/openapi.json', import.meta.url), 'utf8'),
) as object

async function start() {
  const standIn = createTwilioStandIn({ accountSid: SID, authToken: 'token' })
  const { port } = await standIn.listen()
  return {
    standIn,
    async ask(path: string, form?: Record<string, string>, login = `${SID}:token`) {
      const response = await fetch(`http://127.0.0.1:${port}/2010-04-01/Accounts/${path}`, {
        headers: login ? { authorization: `Basic ${Buffer.from(login).toString('base64')}` } : {},
        ...(form && { method: 'POST', body: new URLSearchParams(form) }),
      })
      return { status: response.status, body: await response.json() }
    },
  }
}

const MESSAGE = { To: '+15005550010', From: '+15005550006', Body: 'hello' }

await t.test('its resources agree with Twilio’s published description', async t => {
  const ajv = new Ajv({ allErrors: true, strict: false })
  addFormats.default(ajv)
  for (const format of ['phone-number', 'date-time-rfc-2822', 'decimal', 'currency', 'uri-map'])
    ajv.addFormat(format, true)
  // OpenAPI 3.0 says `nullable` where JSON Schema has a type more.
  ajv.addSchema(description, 'openapi')
  const message = ajv.compile({ $ref: 'openapi#/components/schemas/api.v2010.account.message' })
  const { standIn, ask } = await start()
  t.teardown(async () => standIn.close())
  const service = { ...MESSAGE, From: '', MessagingServiceSid: `MG${'0'.repeat(32)}` }
  for (const form of [MESSAGE, service]) {
    const { status, body } = await ask(`${SID}/Messages.json`, form)
    t.equal(status, 201)
    t.ok(message(body), ajv.errorsText(message.errors))
  }
  t.match((await ask(`${SID}/Messages.json?PageSize=1`)).body, {
    messages: [{ to: MESSAGE.To }],
    page_size: 1,
  })
})

await t.test('it refuses what Twilio refuses', async t => {
  const { standIn, ask } = await start()
  t.teardown(async () => standIn.close())
  for (const [form, code] of [
    [{ ...MESSAGE, To: '' }, 21604],
    [{ ...MESSAGE, From: '' }, 21603],
    [{ ...MESSAGE, Body: '' }, 21602],
    [{ ...MESSAGE, Body: 'x'.repeat(1601) }, 21617],
    [{ ...MESSAGE, ValidityPeriod: '36001' }, 21624],
    [{ ...MESSAGE, To: '5005550010' }, 21211],
    [{ ...MESSAGE, To: '+15005550001' }, 21211],
    [{ ...MESSAGE, To: '+15005550002' }, 21612],
    [{ ...MESSAGE, To: '+15005550003' }, 21408],
    [{ ...MESSAGE, To: '+15005550004' }, 21610],
    [{ ...MESSAGE, To: '+15005550009' }, 21614],
    [{ ...MESSAGE, From: '+15005550001' }, 21212],
    [{ ...MESSAGE, From: '+15005550007' }, 21606],
    [{ ...MESSAGE, From: '+15005550008' }, 21611],
  ] as const)
    t.match(await ask(`${SID}/Messages.json`, form), {
      status: 400,
      body: { code, status: 400, message: /./ },
    })
  t.match(await ask(`${SID}/Messages.json`, MESSAGE, ''), { status: 401, body: { code: 20003 } })
  t.match(await ask(`${SID}/Messages.json`, MESSAGE, `${SID}:wrong`), { status: 401, body: { code: 20003 } })
  t.match(await ask(`AC${'0'.repeat(32)}/Messages.json`, MESSAGE), { status: 404, body: { code: 20404 } })
  t.match(await ask('nothing', MESSAGE), { status: 404, body: { code: 20404 } })
  t.equal(standIn.messages.length, 0)
})
