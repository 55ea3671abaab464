/**
 * The coarse shape of the two callback bodies, for ajv with `coerceTypes` off. Only what must hold before anything can
 * be read is refused here; what a kind needs, and what its values must be, is judged in interpret.ts, because a wrong
 * optional parameter costs a message a word, not its delivery.
 */

/** A Java client writes what it does not have as null, and a number where the contract says String. */
const scalar = (maxLength: number) =>
  ({
    anyOf: [{ type: 'string', maxLength }, { type: 'number' }, { type: 'boolean' }, { type: 'null' }],
  }) as const

/** A name of something: a boolean names nothing, nor does an object. */
const name = (maxLength: number) =>
  ({ anyOf: [{ type: 'string', maxLength }, { type: 'number' }, { type: 'null' }] }) as const

/** Recipients, separated by commas. Without it there is nobody: null is as good as a field that is missing. */
const to = { anyOf: [{ type: 'string', maxLength: 32_768 }, { type: 'number' }] } as const
const plain = scalar(32_768)
/** The keys depend on the type; unknown ones are ignored. */
const param = { type: 'object', maxProperties: 100 } as const

export const emailBodySchema = {
  type: 'object',
  required: ['subject', 'to', 'email_param'],
  properties: { subject: scalar(998), to, email_param: param, plain_email: plain },
} as const

export const smsBodySchema = {
  type: 'object',
  required: ['to', 'sms_param'],
  properties: { to, sms_param: param, area_code: name(32), plain_sms: plain, plugin_id: name(128) },
} as const
