import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { stringifyExactly } from '../../src/runtime/exact-json.ts'

/**
 * The callbacks' bodies, written from the contract: what the platform posts to the enterprise's URL, and what it must
 * be answered. Where the contract's own samples contradict its tables (a number for a String), both are right.
 */

const text = { type: 'string' } as const
const filled = { type: 'string', minLength: 1 } as const
const int = { type: 'integer' } as const
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

/**
 * The platform API's bodies, written from its contract and nothing else: what a client must send and what the platform
 * answers. Strict, so that the emulator notices when a client, or the emulator itself, leaves the contract.
 */

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

/** DDQ's requests and messages, written from the contract. Strict: what the emulator sends must be what is printed there. */

const textOrDecimal = { type: ['string', 'number'] } as const
const moment = (fraction: string) =>
  ({ type: 'string', pattern: `^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{${fraction}}Z$` }) as const

const pairs = (value: object) =>
  ({
    type: 'array',
    items: {
      type: 'object',
      required: ['field', 'value'],
      properties: { field: filled, value },
      additionalProperties: false,
    },
  }) as const

const report = {
  version: int,
  time: int,
  type: { const: 'tml' },
  event: filled,
  thing_id: int,
  corp_id: text,
  product_id: text,
  thing_model_group: text,
  thing_model_category: text,
  thing_model_type: text,
} as const
const reported = ['version', 'time', 'type', 'event', 'thing_id'] as const

const rule = {
  type: 'object',
  properties: {
    id: text,
    status: { enum: [1, 2, 3] },
    notify: { enum: [1, 2] },
    current: text,
    count: int,
    new_time: text,
    start_time: text,
    recover_time: text,
    processed_time: text,
    exception_describe: text,
    notification_content: text,
  },
  additionalProperties: false,
} as const

export const ddqSchemas = {
  'DDQ authenticate request': {
    type: 'object',
    required: ['app_id', 'access_token', 'auth_type'],
    properties: { app_id: filled, access_token: filled, auth_type: { const: 'accesskey' } },
    additionalProperties: false,
  },
  'DDQ subscribe request': {
    type: 'object',
    required: ['topic'],
    properties: { topic: filled },
    additionalProperties: false,
  },
  /** The layouts write message_id, a receiving client's sample reads msgId. */
  'DDQ message': {
    type: 'object',
    required: ['topic', 'payload'],
    properties: {
      topic: filled,
      message_id: { type: ['string', 'integer'] },
      msgId: { type: ['string', 'integer'] },
      payload: { type: 'object' },
    },
    oneOf: [{ required: ['message_id'] }, { required: ['msgId'] }],
    additionalProperties: false,
  },
  'online state': {
    type: 'object',
    required: ['product_id', 'device_id', 'is_online'],
    properties: {
      product_id: filled,
      device_id: int,
      // A flag; its values are named online and offline elsewhere in the contract.
      is_online: { enum: [true, false, 0, 1, 'online', 'offline'] },
      corp_id: text,
      create_time: moment('2,3'),
      project_id: text,
    },
    additionalProperties: false,
  },
  attributes: {
    type: 'object',
    required: [...reported, 'attributes'],
    properties: {
      ...report,
      event: { const: 'device_attribute_sync_event' },
      attributes: pairs(textOrDecimal),
    },
    additionalProperties: false,
  },
  event: {
    type: 'object',
    required: [...reported, 'events'],
    properties: { ...report, events: pairs(text) },
    additionalProperties: false,
  },
  alert: {
    type: 'object',
    required: ['product_id', 'corp_id', 'device', 'alert'],
    properties: {
      product_id: filled,
      corp_id: filled,
      device: {
        type: 'object',
        required: ['id'],
        properties: { id: int, mac: text },
        additionalProperties: false,
      },
      alert: {
        type: 'object',
        required: ['exception', 'time'],
        properties: {
          exception: { type: 'boolean' },
          time: moment('3'),
          rules: { type: 'array', items: rule },
        },
        additionalProperties: false,
      },
    },
    additionalProperties: false,
  },
} as const

const schemas = { ...platformSchemas, ...callbackSchemas, ...ddqSchemas }
export type SchemaName = keyof typeof schemas

/** A body that is not as the contract has it. */
export interface Violation {
  /** ms since the epoch. */
  readonly at: number
  /** The author of the violation: `client` is the program that is tested, `emulator` this one, which then has a bug. */
  readonly by: 'client' | 'emulator'
  readonly body: SchemaName
  /** Where and what, without the value: `/expire_in must be integer`. */
  readonly fault: string
  /** The keyword of JSON Schema that it broke. */
  readonly keyword: string
}

export interface ContractChecker {
  /** Checks a body and remembers its violation. @returns null when there is none. */
  validate(by: Violation['by'], body: SchemaName, value: unknown): Violation | null
  /** Newest last, at most 200. */
  violations(): readonly Violation[]
  clear(): void
}

/** The fault where exactly one of several properties must be there; null: something else is wrong first. */
function oneOfFault(body: SchemaName, errors: readonly ErrorObject[]): string | null {
  const schema = schemas[body]
  const [first] = errors
  if (!('oneOf' in schema) || first === undefined) return null
  const names = schema.oneOf.map(({ required }) => `'${required.join()}'`).join(', ')
  if (first.keyword === 'oneOf') return `must have only one of the properties ${names}`
  return first.schemaPath.includes('/oneOf/') ? `must have one of the properties ${names}` : null
}

/** Compiles each schema once per process, when it is first asked for. */
const ajv = new Ajv({ allowUnionTypes: true, strictRequired: false, validateSchema: false })

/** @param now ms since the epoch. @param onViolation called for each. */
export function createContractChecker(
  now: () => number,
  onViolation: (violation: Violation) => void = () => {},
): ContractChecker {
  let violations: readonly Violation[] = []

  return {
    validate(by, body, value) {
      const validate: ValidateFunction = ajv.compile(schemas[body])
      // The body is checked as it is on the wire, where a bigint beyond 2^53 is an integer like any other.
      if (validate(JSON.parse(stringifyExactly(value)) as unknown)) return null
      const [error] = validate.errors ?? []
      const violation: Violation = {
        at: now(),
        by,
        body,
        fault:
          oneOfFault(body, validate.errors ?? []) ??
          `${error?.instancePath ?? ''} ${error?.message ?? 'is not as the contract has it'}`.trim(),
        keyword: error?.keyword ?? '',
      }
      violations = [...violations, violation].slice(-200)
      onViolation(violation)
      return violation
    },
    violations: () => violations,
    clear() {
      violations = []
    },
  }
}
