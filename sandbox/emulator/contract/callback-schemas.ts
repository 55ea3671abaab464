/**
 * The callbacks' bodies, written from the contract: what the platform posts to the enterprise's URL, and what it must
 * be answered. Where the contract's own samples contradict its tables (a number for a String), both are right.
 */

const text = { type: 'string' } as const
const filled = { type: 'string', minLength: 1 } as const
/** A Java client writes what it does not have as null. */
const optional = { type: ['string', 'null'] } as const
const textOrNumber = { type: ['string', 'integer'] } as const
const optionalScalar = { type: ['string', 'integer', 'null'] } as const

export const callbackSchemas = {
  'e-mail callback': {
    type: 'object',
    required: ['subject', 'to', 'email_param'],
    properties: {
      subject: filled,
      to: filled,
      email_param: {
        type: 'object',
        required: ['type'],
        properties: { type: textOrNumber },
        additionalProperties: { type: ['string', 'number', 'null'] },
      },
      plain_email: optional,
    },
    additionalProperties: false,
  },
  'SMS callback': {
    type: 'object',
    required: ['to', 'sms_param'],
    properties: {
      to: textOrNumber,
      sms_param: {
        type: 'object',
        required: ['type'],
        properties: { type: textOrNumber, code: textOrNumber, minute: textOrNumber },
        additionalProperties: false,
      },
      area_code: optionalScalar,
      plain_sms: optional,
      plugin_id: optionalScalar,
    },
    additionalProperties: false,
  },
  'callback answer': {
    type: 'object',
    required: ['err_code', 'err_msg'],
    properties: { err_code: { type: 'integer' }, err_msg: text },
  },
} as const
