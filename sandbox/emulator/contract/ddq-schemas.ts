/** DDQ's requests and messages, written from the contract. Strict: what the emulator sends must be what is printed there. */

const text = { type: 'string' } as const
const filled = { type: 'string', minLength: 1 } as const
const int = { type: 'integer' } as const
const textOrNumber = { type: ['string', 'number'] } as const
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
      attributes: pairs(textOrNumber),
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
