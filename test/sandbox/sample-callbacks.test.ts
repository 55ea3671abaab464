import { Ajv } from 'ajv'
import t from 'tap'
import {
  createSampleBody,
  createSampleCallback,
  findSampleKind,
  SAMPLE_KINDS,
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
