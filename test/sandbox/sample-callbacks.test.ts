import { Ajv } from 'ajv'
import t from 'tap'
import {
  createSampleBody,
  createSampleCallback,
  findSampleKind,
  SAMPLE_KINDS,
  type SampleKind,
} from '../../sandbox/sample-callbacks.ts'
import { emailBodySchema, smsBodySchema } from '../../src/messages/interpret.ts'
import { callbackKinds } from '../../src/messages/kinds.ts'

const ajv = new Ajv({ coerceTypes: false, allowUnionTypes: true })
const schemas = { email: ajv.compile(emailBodySchema), sms: ajv.compile(smsBodySchema) }

t.test('there is a sample of every kind of the registry, and of an unknown type per channel', async t => {
  for (const kind of callbackKinds) t.ok(findSampleKind(kind.channel, kind.name), kind.name)
  t.equal(SAMPLE_KINDS.length, callbackKinds.length + 2)
  t.ok(findSampleKind('email', 'plain'))
  t.ok(findSampleKind('sms', 'plain'))
  t.equal(createSampleBody('sms', 'registration-activation'), undefined)
})

t.test('every layout of every kind is a body that the contract allows', async t => {
  for (const kind of SAMPLE_KINDS) {
    for (let round = 0; round < 10; round++) {
      const validate = schemas[kind.channel]
      const { body } = createSampleCallback(kind, { round, mark: '204816' })
      t.ok(validate(body), `${kind.kind} ${round}: ${ajv.errorsText(validate.errors)}`)
    }
  }
})

t.test('types, durations and codes come as numbers and as text', async t => {
  const layouts = [0, 1].map(round => createSampleBody('email', 'phone-change', { round, mark: '204816' }))
  t.match(layouts[0]?.['email_param'], { type: 3, code: 204816, hour: String })
  t.match(layouts[1]?.['email_param'], { type: '3', code: '204816', hour: Number })
})

t.test('a number comes in each form that the platform knows', async t => {
  const forms = [0, 1, 2, 3, 4].map(round => {
    const { to, area_code } = createSampleBody('sms', 'login-code', { round, to: '+8613800138001' }) ?? {}
    return [area_code, to]
  })
  t.same(forms, [
    ['86', '13800138001'],
    ['+86', '13800138001'],
    [86, 13_800_138_001],
    ['0086', '13800138001'],
    [null, '+8613800138001'],
  ])
  const abroad = createSampleBody('sms', 'login-code', { to: '+14155550100,+8613800138001' })
  t.match(abroad, { to: '+14155550100,+8613800138001', area_code: null })
})

t.test(
  'the mark makes a message unlike any other, and is in the words that must reach the reader',
  async t => {
    for (const kind of SAMPLE_KINDS) {
      const one = createSampleCallback(kind, { mark: '111111' })
      const other = createSampleCallback(kind, { mark: '222222' })
      t.match(one.words, '111111', kind.kind)
      t.notSame(one.body, other.body)
      t.match(JSON.stringify(one.body), JSON.stringify(one.words).slice(1, -1))
    }
    const link = createSampleCallback(findSampleKind('email', 'password-reset') as SampleKind, {
      mark: '111111',
    })
    t.ok(URL.canParse(link.words))
  },
)
