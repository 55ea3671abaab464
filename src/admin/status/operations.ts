import { ANSWERS, id, type JsonSchema, search } from './schemas.ts'

/** One question that the status API answers. */
export interface Operation {
  readonly method: 'GET' | 'POST'
  /** With `{name}` where a parameter stands. */
  readonly path: string
  readonly summary: string
  readonly params?: Readonly<Record<string, JsonSchema>>
  readonly query?: Readonly<Record<string, JsonSchema>>
  readonly body?: JsonSchema
  readonly answer: keyof typeof ANSWERS
}

/** The paths of the API and of its document on the private listener. */
export const API = '/api/v1'
export const OPENAPI_PATH = `${API}/openapi.json`

const MOST_MINUTES = 30 * 24 * 60

/** The API, once: the routes check requests by it, and the document is made of it. */
export const OPERATIONS = {
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
} as const satisfies Readonly<Record<string, Operation>>

export type OperationId = keyof typeof OPERATIONS
