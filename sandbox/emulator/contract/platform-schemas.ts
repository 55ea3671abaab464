/**
 * The platform API's bodies, written from its contract and nothing else: what a client must send and what the platform
 * answers. Strict, so that the emulator notices when a client, or the emulator itself, leaves the contract.
 */

const text = { type: 'string' } as const
const filled = { type: 'string', minLength: 1 } as const
const int = { type: 'integer' } as const

const record = <P extends object>(properties: P, optional: readonly (keyof P)[] = []) => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter(key => !optional.includes(key as keyof P)),
  additionalProperties: false,
})

export const platformSchemas = {
  'corp-auth request': record({ account: filled, password: filled }),
  'corp-auth answer': record(
    {
      corp_id: filled,
      member_id: filled,
      access_token: filled,
      refresh_token: filled,
      expire_in: int,
      role_type: int,
    },
    ['role_type'],
  ),
  'user_auth request': {
    ...record(
      { corp_id: filled, phone: filled, phone_zone: filled, password: filled, resource: text, email: filled },
      ['phone', 'resource', 'email'],
    ),
    // "Choose either phone or email."
    oneOf: [{ required: ['phone'] }, { required: ['email'] }],
  },
  'user_auth answer': record({ user_id: int, access_token: filled, refresh_token: filled, expire_in: int }),
  'app_auth request': record({ app_id: filled, app_secret: filled }),
  // The type of expire_in is not stated here.
  'app_auth answer': record({
    access_token: filled,
    refresh_token: filled,
    expire_in: { type: ['integer', 'string'] },
  }),
  'demo request': record({ name: filled, age: int }),
  'demo data': record({ name: filled, age: int }),
  /** Version 2. `status` may be left out; `msg` is empty and `data` an object on success. */
  envelope: {
    ...record({ code: int, status: int, msg: text, data: { type: 'object' } }, ['status']),
    if: { properties: { code: { const: 200 } } },
    // An empty string otherwise: "present on error".
    // oxlint-disable-next-line unicorn/no-thenable -- JSON Schema's keyword
    then: { properties: { msg: { const: '' } } },
    else: { properties: { msg: filled } },
  },
  /** Version 1. */
  'error of version 1': record({ error: record({ code: int, msg: filled }) }),
} as const
