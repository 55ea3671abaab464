import { Ajv, type ValidateFunction } from 'ajv'
import t from 'tap'
import { emailBodySchema, smsBodySchema } from '../../src/messages/interpret.ts'

const complaints: string[] = []
const note = (...words: unknown[]) => void complaints.push(words.join(' '))
const ajv = new Ajv({ coerceTypes: false, strict: true, logger: { log: note, warn: note, error: note } })
const email: ValidateFunction = ajv.compile(emailBodySchema)
const sms: ValidateFunction = ajv.compile(smsBodySchema)

t.test('the schemas compile in strict mode without a complaint', async t => {
  t.same(complaints, [])
})

t.test('numbers, nulls and unknown keys pass', async t => {
  t.ok(email({ subject: 'S', to: 'a@b.test', email_param: { type: 1, url: 'https://e.test/', hour: 24 } }))
  t.ok(email({ subject: null, to: 'a@b.test', email_param: {}, plain_email: null, more: { deep: [] } }))
  t.ok(
    sms({
      to: 13800138000,
      sms_param: { type: '1', code: 1234, minute: null },
      area_code: 86,
      plugin_id: 7,
      plain_sms: null,
    }),
  )
  t.ok(sms({ to: '13800138000', sms_param: { type: 1 } }))
})

t.test('a body that cannot be read is refused, and the error names the field', async t => {
  const faultOf = (validate: ValidateFunction, body: unknown) => {
    t.notOk(validate(body))
    return validate.errors?.map(
      ({ instancePath, params }) => instancePath || `/${String(params['missingProperty'])}`,
    )
  }
  t.match(faultOf(email, { to: 'a@b.test', email_param: {} }), ['/subject'])
  t.match(faultOf(email, { subject: 'S', email_param: {} }), ['/to'])
  t.match(faultOf(email, { subject: 'S', to: 'a@b.test' }), ['/email_param'])
  t.match(faultOf(email, { subject: 'S', to: 'a@b.test', email_param: [] }), ['/email_param'])
  t.ok(faultOf(email, { subject: {}, to: 'a@b.test', email_param: {} })?.includes('/subject'))
  t.ok(faultOf(email, { subject: 'S', to: ['a@b.test'], email_param: {} })?.includes('/to'))
  for (const nobody of [null, true, {}]) {
    t.match(faultOf(email, { subject: 'S', to: nobody, email_param: {} }), ['/to'])
    t.match(faultOf(sms, { to: nobody, sms_param: {} }), ['/to'])
  }
  t.ok(faultOf(sms, { to: '1', sms_param: {}, plain_sms: [] })?.includes('/plain_sms'))
  t.match(faultOf(sms, { to: '1', sms_param: null }), ['/sms_param'])
  for (const odd of [true, false, {}, []])
    for (const name of ['area_code', 'plugin_id'])
      t.ok(faultOf(sms, { to: '1', sms_param: {}, [name]: odd })?.includes(`/${name}`))
  for (const odd of [null, [], 'x', 1]) t.notOk(email(odd))
})

t.test('a field has room for so many characters, or parameters, and not for one more', async t => {
  const mail = { subject: 'S', to: 'a@b.test', email_param: {} }
  const message = { to: '1', sms_param: {} }
  const text = (length: number) => 'x'.repeat(length)
  const params = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, n]))
  for (const [validate, body, field, most, of] of [
    [email, mail, 'subject', 998, text],
    [email, mail, 'to', 32_768, text],
    [email, mail, 'plain_email', 32_768, text],
    [email, mail, 'email_param', 100, params],
    [sms, message, 'to', 32_768, text],
    [sms, message, 'plain_sms', 32_768, text],
    [sms, message, 'sms_param', 100, params],
    [sms, message, 'area_code', 32, text],
    [sms, message, 'plugin_id', 128, text],
  ] as const) {
    t.ok(validate({ ...body, [field]: of(most) }), field)
    t.notOk(validate({ ...body, [field]: of(most + 1) }), field)
  }
})
