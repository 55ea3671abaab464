import { readFileSync } from 'node:fs'
import type { FastifyInstance, FastifyRequest, RouteShorthandOptions } from 'fastify'
import { UNNAMED } from '../../config/config.ts'
import { languageOfBrowser } from '../../language/choose.ts'
import { type ReaderLanguage, Sentence, unpackWords } from '../../language/sentence.ts'
import { FINAL_STATES, LIVE_STATES, type MessageView } from '../../outbox/outbox.ts'
import type { ConsoleOptions } from '../console/page.ts'
import { DAY, firstLines } from '../facts.ts'
import { type Failure, NO_OPERATOR, RequestRefused } from '../failure.ts'
import { API, type Question, readCalls, readPage, readProviders, readSummaryIfUp } from './status.ts'

/** Octets of a body. */
const BODY_LIMIT = 4096

const NO_SUCH_MESSAGE: Failure = {
  status: 404,
  error: 'not-found',
  message: 'no such message; it may have been pruned',
}
const NO_RECIPIENT: Failure = {
  status: 400,
  error: 'invalid',
  message: 'body.recipient is neither a mail address nor a phone number in full (+86…)',
}

interface Search extends Omit<Question, 'recipientHash'> {
  readonly recipient?: string
  readonly cursor?: string
}

/** More messages than wait for one recipient. */
const MOST_WAITING = 1000

const MOST_MINUTES = 30 * 24 * 60

/** An object of these members and no other. */
const closed = (properties: object) => ({ type: 'object', properties, additionalProperties: false })
const time = { type: 'integer', minimum: 0 }
const recipient = { type: 'string', minLength: 1, maxLength: 320 }

/** One question that the status API answers, and what it takes; openapi.yaml describes the answers, too. */
interface Operation {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly schema?: RouteShorthandOptions['schema']
  /** A program's token does not open it. */
  readonly forOperators?: true
  readonly answer: (request: FastifyRequest, options: ConsoleOptions) => Promise<object>
}

const OPERATIONS: readonly Operation[] = [
  {
    method: 'GET',
    path: '/messages/:id',
    schema: { params: closed({ id: { type: 'string', pattern: '^[0-9a-f]{32}$' } }) },
    async answer({ params }, { view }) {
      const found = await view.queries.findMessage((params as { readonly id: string }).id)
      if (found === null) throw new RequestRefused(NO_SUCH_MESSAGE)
      return withWords(found)
    },
  },
  {
    method: 'POST',
    path: '/messages/search',
    schema: {
      body: closed({
        recipient,
        channel: { enum: ['email', 'sms'] },
        state: { enum: [...LIVE_STATES, ...FINAL_STATES, 'undelivered'] },
        kind: { type: 'string', minLength: 1, maxLength: 64 },
        since: time,
        before: time,
        cursor: { type: 'string', pattern: '^[0-9]{1,15}$' },
      }),
    },
    async answer({ body }, options) {
      const { recipient, cursor, ...filter } = body as Search
      const { messages, before } = await readPage(options.view, {
        ...filter,
        ...(recipient === undefined ? {} : { recipientHash: readHash(recipient, options) }),
        ...(cursor === undefined ? {} : { before: Number(cursor) }),
      })
      return { messages: messages.map(withWords), cursor: before === null ? null : String(before) }
    },
  },
  {
    method: 'GET',
    path: '/counts',
    schema: {
      querystring: closed({ minutes: { type: 'integer', minimum: 1, maximum: MOST_MINUTES, default: 60 } }),
    },
    async answer({ query }, { view }) {
      const { minutes } = query as { readonly minutes: number }
      const since = Math.floor(view.now() / 60_000 - minutes) * 60_000
      const { backlog, oldest, bytes, counts } = await view.queries.readSummary(since)
      return { since, backlog, oldest, bytes, outcomes: counts }
    },
  },
  {
    method: 'GET',
    path: '/providers',
    answer: async (_request, { view }) => ({ providers: await readProviders(view) }),
  },
  {
    method: 'GET',
    path: '/calls',
    answer: async (_request, { view }) => ({ channels: await readCalls(view) }),
  },
  {
    method: 'GET',
    path: '/causes',
    answer: async (_request, { view }) => ({
      causes: firstLines(view, await readSummaryIfUp(view, view.now() - DAY)),
    }),
  },
  {
    method: 'POST',
    path: '/forget',
    schema: { body: { ...closed({ recipient }), required: ['recipient'] } },
    forOperators: true,
    async answer({ operator, body }, options) {
      const { view, actions, emit } = options
      const { listMessages } = view.queries
      const recipientHash = readHash((body as { readonly recipient: string }).recipient, options)
      const filter = { recipientHash, limit: MOST_WAITING }
      for (const { id, channel, kind } of (await listMessages({ ...filter, state: 'queued' })).messages)
        if (await actions.cancelMessage(id))
          emit({ type: 'final', id, channel, kind, state: 'superseded', answer: null })
      const messages = await actions.forgetRecipient(recipientHash)
      const live = (await listMessages(filter)).messages.length
      emit({ type: 'operator', operator, did: 'forget', messages })
      return { messages, live }
    },
  },
]

function readHash(typed: string, { hashOf }: ConsoleOptions): string {
  const hash = hashOf(typed)
  if (hash === null) throw new RequestRefused(NO_RECIPIENT)
  return hash
}

/** Serves the status API: JSON, as openapi.yaml has it. The guard has let the caller in before. */
export async function statusRoutes(app: FastifyInstance, options: ConsoleOptions): Promise<void> {
  app.removeContentTypeParser('text/plain')
  for (const { method, path, schema, forOperators, answer } of OPERATIONS)
    app.route({
      method,
      url: `${API}${path}`,
      bodyLimit: BODY_LIMIT,
      // Fastify warns of a schema that is there and undefined.
      ...(schema && { schema }),
      preValidation: async ({ operator }) => {
        if (forOperators && operator === UNNAMED.nobody) throw new RequestRefused(NO_OPERATOR)
      },
      async handler(request, reply) {
        const language = languageOfBrowser(request.headers['accept-language'])
        reply.type('application/json; charset=utf-8').header('vary', 'accept-language')
        return reply.send(writeJson(await answer(request, options), language))
      },
    })
  app.get(`${API}/openapi.json`, async () => {
    // Loaded when it is asked for: few services ever are.
    const { parse } = await import('yaml')
    return parse(readFileSync(new URL('openapi.yaml', import.meta.url), 'utf8')) as object
  })
}

/** A message whose timeline is in words again. */
function withWords({ timeline, ...message }: MessageView) {
  return { ...message, timeline: timeline.map(each => ({ ...each, reply: unpackWords(each.reply) })) }
}

/** JSON with its sentences in the reader's language: English unless another one is asked for. */
function writeJson(answer: object, language: ReaderLanguage): string {
  return JSON.stringify(
    answer,
    function (this: Readonly<Record<string, unknown>>, name: string, value: unknown) {
      const given = this[name]
      return given instanceof Sentence ? given.in(language) : value
    },
  )
}
