import type { PartialFault } from '../../delivery/circuits.ts'
import { LIMIT_REASONS } from '../../delivery/limiter.ts'
import { FAULT_SCOPES } from '../../messages/message.ts'
import {
  FAULT_VERDICTS,
  FINAL_STATES,
  LIVE_STATES,
  type ListFilter,
  type MessageView,
  type ReportFault,
} from '../../outbox/outbox.ts'
import type { Cause } from '../console/causes.ts'
import type { ChannelCalls, ProviderView } from './status.ts'

/** The answers of the status API as JSON schemas (draft 2020-12, as OpenAPI 3.1 has them). */

export type JsonSchema = Readonly<Record<string, unknown>>

const STATES = [...LIVE_STATES, ...FINAL_STATES] as const

const text = { type: 'string' }
const count = { type: 'integer', minimum: 0 }
const time = { type: 'integer', description: 'ms since the epoch' }
const orNull = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: 'null' }] })
const list = (items: JsonSchema): JsonSchema => ({ type: 'array', items })

const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

/** Makes the schema of an object that has all of these fields, but for the optional ones, and no others. */
function object(
  properties: Readonly<Record<string, JsonSchema>>,
  description?: string,
  optional: readonly string[] = [],
): JsonSchema {
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    properties,
    required: Object.keys(properties).filter(name => !optional.includes(name)),
    additionalProperties: false,
  }
}

const channel = { enum: ['email', 'sms'] }
const state = { enum: STATES }
const id = { type: 'string', pattern: '^[0-9a-f]{32}$' }

const attempt = object(
  {
    at: time,
    tookMs: { type: 'number' },
    provider: text,
    outcome: {
      type: 'string',
      description:
        'sent, rejected, retry, limit, ambiguous, looked-up, and for what never was an attempt: skipped, lease-lost, released, reported, cancelled',
    },
    code: { type: 'string', description: "the provider's code, or a reason of ours" },
    reply: { type: 'string', description: "the provider's words, without recipients and codes" },
  } satisfies Record<keyof MessageView['timeline'][number], JsonSchema>,
  'One line of a timeline',
)

const scope = { enum: FAULT_SCOPES, description: 'what else the fault concerns' }

const reportFault = object(
  {
    verdict: {
      enum: FAULT_VERDICTS,
      description: "whose fault it is; ours: the operator's to mend, later: the provider's own",
    },
    scope,
    reason: { ...orNull(text), description: "in the words of the provider's table; null: an unknown code" },
  } satisfies Record<keyof ReportFault, JsonSchema>,
  'Why it did not arrive; absent: it did, or is on its way',
)

const receipt = object(
  { status: text, errorCode: orNull(text), fault: reportFault, at: time },
  'The latest delivery report',
  ['fault'],
)

const message = object({
  id,
  channel,
  kind: {
    type: 'string',
    description: 'such as login-code; plain for a type that this version does not know',
  },
  purpose: { enum: ['code', 'link', 'file', 'alarm', 'plain'] },
  maskedRecipient: { type: 'string', examples: ['a***@example.com', '+86*******8000'] },
  state: { ...state, description: 'docs/durability.md says what each means' },
  answer: { enum: ['recipient', 'content', 'country', 'limit', null], description: 'why it was refused' },
  attempts: count,
  ambiguous: { ...count, description: 'how many copies of it may have been sent' },
  arrivedAt: time,
  expiresAt: time,
  dueAt: orNull(time),
  finalAt: orNull(time),
  providerId: orNull(text),
  receipt: orNull(receipt),
  timeline: list(ref('Attempt')),
} satisfies Record<keyof MessageView, JsonSchema>)

const messagePage = object({
  messages: list(ref('Message')),
  cursor: orNull({ type: 'string', description: 'cursor of the next page; null: this is the last one' }),
})

const perChannel = (value: JsonSchema, description: string) =>
  object({ email: value, sms: value }, description)

const counts = object({
  since: time,
  backlog: perChannel(count, 'Messages that are queued or being sent'),
  oldest: perChannel(orNull(time), 'Arrival of the oldest of them'),
  bytes: orNull({ ...count, description: 'size of the store, where it knows' }),
  outcomes: list(object({ channel, kind: text, state, count }, 'Messages that arrived since then')),
})

const provider = object({
  provider: text,
  channel,
  up: {
    type: ['boolean', 'null'],
    description: 'whether its last attempt got an answer; null: none since the start',
  },
  since: orNull(time),
  lastError: orNull(
    object({ at: time, code: text, reply: text, whose: { enum: ['ours', 'later', 'nobody'] } }),
  ),
  lastSentAt: orNull(time),
  inFlight: count,
  waiting: { ...count, description: 'messages of the channel that wait in memory' },
  awaitingReply: count,
  limit: { ...count, description: 'how many attempts may be under way now' },
  limitReason: { enum: LIMIT_REASONS },
  limitWhy: text,
  isSecond: {
    type: 'boolean',
    description: 'asked after others for now: its delivery reports are late or bad, or have stopped',
  },
  breaker: { enum: ['closed', 'open', 'half-open'], description: 'open: it is left alone' },
  breakerUntil: orNull(time),
  partialFaults: list(
    object(
      {
        scope: { enum: [...FAULT_SCOPES, 'carrier'] },
        name: text,
        kind: { ...text, description: 'of the message that was refused first' },
        since: time,
        until: { ...orNull(time), description: 'when a message tries it again; null: nothing waits for it' },
        code: text,
        reply: text,
        recipients: {
          ...count,
          description: 'it took their messages, which did not arrive; absent: it refuses them',
        },
      } satisfies Record<keyof PartialFault, JsonSchema>,
      'What it refuses though it takes the rest; carrier: it refuses many different messages alike',
      ['recipients'],
    ),
  ),
} satisfies Record<keyof ProviderView, JsonSchema>)

const calls = object({
  channel,
  newestAt: { ...orNull(time), description: 'arrival of the newest message to anybody' },
  refusals: object({ count, last: orNull(object({ at: time, reason: text })) }),
  heldBack: {
    type: 'array',
    description:
      'what quotas have held back since the start: callbacks, which were answered 429, and device alerts',
    items: object({ quota: text, count, lastAt: time }),
  },
  validation: orNull(object({ at: time, ok: { type: 'boolean' }, reason: text })),
} satisfies Record<keyof ChannelCalls, JsonSchema>)

const cause = object({
  level: { enum: ['fail', 'warn', 'ok'] satisfies Cause['level'][] },
  about: { type: 'string', description: 'for programs: stays the same as long as it lasts' },
  text: { type: 'string', description: 'for people, in the language of Accept-Language: English or Chinese' },
} satisfies Record<keyof Cause, JsonSchema>)

const failure = object({
  error: { type: 'string', description: 'for programs', examples: ['not-found', 'invalid', 'wrong-token'] },
  message: { type: 'string', description: 'for people' },
})

const recipient = {
  type: 'string',
  minLength: 1,
  maxLength: 320,
  description: 'in full: a mail address, or a number such as +8613800138000',
}

const search = {
  type: 'object',
  properties: {
    recipient,
    channel,
    state,
    kind: { type: 'string', minLength: 1, maxLength: 64 },
    since: { type: 'integer', minimum: 0, description: 'arrived then or later, ms since the epoch' },
    before: { type: 'integer', minimum: 0, description: 'arrived before this, ms since the epoch' },
    cursor: { type: 'string', pattern: '^[0-9]{1,15}$', description: 'of the page before' },
  } satisfies Partial<Record<keyof ListFilter | 'recipient' | 'cursor', JsonSchema>>,
  additionalProperties: false,
}

/** The answers by their names in the document. */
const ANSWERS = {
  Attempt: attempt,
  Message: message,
  MessagePage: messagePage,
  Counts: counts,
  Provider: provider,
  Providers: object({ providers: list(ref('Provider')) }),
  Calls: object({ channels: list(calls) }),
  Causes: object({ causes: list(cause) }),
  Forgotten: object({
    messages: count,
    live: { ...count, description: 'are being sent, and were left: ask again in a minute' },
  }),
  Failure: failure,
} as const

/** One question that the status API answers. */
export interface Operation {
  readonly method: 'GET' | 'POST'
  /** The path has `{name}` where a parameter stands. */
  readonly path: string
  readonly summary: string
  readonly params?: Readonly<Record<string, JsonSchema>>
  readonly query?: Readonly<Record<string, JsonSchema>>
  readonly body?: JsonSchema
  readonly answer: keyof typeof ANSWERS
  /** A program's token does not open it. */
  readonly forOperators?: true
}

/** The paths of the API and of its document on the private listener. */
export const API = '/api/v1'
export const OPENAPI_PATH = `${API}/openapi.json`

const MOST_MINUTES = 30 * 24 * 60

/** The API, once: the routes check requests by it, and the document is made of it. */
export const API_OPERATIONS = {
  findMessage: {
    method: 'GET',
    path: '/messages/{id}',
    summary: 'One message by its id, with every attempt',
    params: { id },
    answer: 'Message',
  },
  searchMessages: {
    method: 'POST',
    path: '/messages/search',
    summary:
      'Messages, the newest first. A recipient stands in the body, and so in no address and no log. A page has about 50 messages, and ends between two callbacks',
    body: search,
    answer: 'MessagePage',
  },
  readCounts: {
    method: 'GET',
    path: '/counts',
    summary: 'What waits, and what became of the messages that arrived in the last minutes',
    query: { minutes: { type: 'integer', minimum: 1, maximum: MOST_MINUTES, default: 60 } },
    answer: 'Counts',
  },
  listProviders: {
    method: 'GET',
    path: '/providers',
    summary:
      'Each provider: whether it works, how many attempts it may be given at once, its circuit breaker',
    answer: 'Providers',
  },
  readCalls: {
    method: 'GET',
    path: '/calls',
    summary:
      'Of each channel: when its newest message came, which callers were refused since the start, and how the last validation of its URL went',
    answer: 'Calls',
  },
  readCauses: {
    method: 'GET',
    path: '/causes',
    summary:
      'The first lines of the console: what is wrong, since when, and what to do; one line that all is well when it is',
    answer: 'Causes',
  },
  forgetRecipient: {
    method: 'POST',
    path: '/forget',
    summary:
      'Removes what the store has of a recipient, and cancels what waits; with an operator’s token only (docs/privacy.md)',
    body: object({ recipient }),
    answer: 'Forgotten',
    forOperators: true,
  },
} as const satisfies Readonly<Record<string, Operation>>

export type OperationId = keyof typeof API_OPERATIONS

const FAILURES: Readonly<Record<string, string>> = {
  400: 'The request is not as described here; message says which field',
  401: 'No token, or a wrong one',
  403: 'A token that opens something else, no operator’s token, or a page of somebody else',
  404: 'No such message, or no such path',
  413: 'The body is too large',
  415: 'The body is not JSON',
  421: 'A host name that is not served here (ADMIN_NAMES)',
  429: 'Too many wrong tokens; Retry-After says when to come again',
  500: 'An unexpected fault',
  503: 'The store does not answer',
}

const json = (schema: JsonSchema) => ({ content: { 'application/json': { schema } } })

/** The OpenAPI document of the status API. `npm run openapi` writes it to docs/openapi.yaml; the API serves it, too. */
export function openApi(): JsonSchema {
  const failed = Object.fromEntries(
    Object.keys(FAILURES).map(status => [status, { $ref: `#/components/responses/Failed${status}` }]),
  )
  const paths: Record<string, Record<string, JsonSchema>> = {}
  for (const [operationId, operation] of Object.entries<Operation>(API_OPERATIONS)) {
    const { method, path, summary, body, answer } = operation
    const described = {
      operationId,
      summary,
      parameters: [...parametersIn('path', operation.params), ...parametersIn('query', operation.query)],
      ...(body === undefined ? {} : { requestBody: { required: true, ...json(body) } }),
      responses: { 200: { description: summary, ...json(ref(answer)) }, ...failed },
    }
    paths[path] = { ...paths[path], [method.toLowerCase()]: described }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'callback-courier status',
      version: '1',
      description:
        'What became of messages: recipients are masked, and no content is shown. All but forgetRecipient only read. On the private listener, with a token of ADMIN_TOKENS (that of status/, or an operator’s) as bearer token. Within version 1 fields may be added, and none is removed.',
    },
    servers: [{ url: `http://127.0.0.1:9090${API}` }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      responses: Object.fromEntries(
        Object.entries(FAILURES).map(([status, description]) => [
          `Failed${status}`,
          { description, ...json(ref('Failure')) },
        ]),
      ),
      schemas: ANSWERS,
    },
  }
}

function parametersIn(
  place: 'path' | 'query',
  schemas: Readonly<Record<string, JsonSchema>> = {},
): readonly JsonSchema[] {
  return Object.entries(schemas).map(([name, schema]) => ({
    name,
    in: place,
    required: place === 'path',
    schema,
  }))
}
