import type { FastifyInstance, FastifyRequest } from 'fastify'
import { UNNAMED } from '../../config/config.ts'
import { languageOfBrowser } from '../../language/choose.ts'
import { causesOf, DAY } from '../console/causes.ts'
import type { ConsoleOptions } from '../console/page.ts'
import { type Failure, NO_OPERATOR, RequestRefused } from '../failure.ts'
import { API, API_OPERATIONS, OPENAPI_PATH, type Operation, type OperationId, openApi } from './openapi.ts'
import { listProviders, type Question, readCalls, readPage, readSummaryIfUp } from './status.ts'

type StatusRoutesOptions = Pick<ConsoleOptions, 'view' | 'actions' | 'recipientHashes' | 'emit'>

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

interface Search extends Omit<Question, 'recipientHashes'> {
  readonly recipient?: string
  readonly cursor?: string
}

/** More messages than wait for one recipient. */
const MOST_WAITING = 1000

/** Serves the status API: JSON, as openapi.ts has it. The guard has let the caller in before. */
export async function statusRoutes(app: FastifyInstance, options: StatusRoutesOptions): Promise<void> {
  const handlers = createHandlers(options)
  app.removeContentTypeParser('text/plain')
  for (const [name, operation] of Object.entries<Operation>(API_OPERATIONS)) {
    const { method, path, params, query, body, forOperators } = operation
    app.route({
      method,
      url: `${API}${path.replace(/\{(\w+)\}/g, ':$1')}`,
      bodyLimit: BODY_LIMIT,
      // Fastify warns of a part that is there and undefined.
      schema: {
        ...(params && { params: { type: 'object', properties: params } }),
        ...(query && { querystring: { type: 'object', properties: query, additionalProperties: false } }),
        ...(body && { body }),
      },
      preValidation: async ({ operator }) => {
        if (forOperators && operator === UNNAMED.nobody) throw new RequestRefused(NO_OPERATOR)
      },
      handler: request => handlers[name as OperationId](request),
    })
  }
  app.get(OPENAPI_PATH, () => openApi())
}

function createHandlers({
  recipientHashes,
  view,
  actions,
  emit,
}: StatusRoutesOptions): Readonly<Record<OperationId, (request: FastifyRequest) => Promise<object>>> {
  function hashesOf(typed: string): readonly string[] {
    const hashes = recipientHashes(typed)
    if (hashes === null) throw new RequestRefused(NO_RECIPIENT)
    return hashes
  }

  return {
    async findMessage({ params }) {
      const found = await view.queries.findMessage((params as { readonly id: string }).id)
      if (found === null) throw new RequestRefused(NO_SUCH_MESSAGE)
      return found
    },
    async searchMessages({ body }) {
      const { recipient, cursor, ...filter } = body as Search
      const { messages, before } = await readPage(view, {
        ...filter,
        ...(recipient === undefined ? {} : { recipientHashes: hashesOf(recipient) }),
        ...(cursor === undefined ? {} : { before: Number(cursor) }),
      })
      return { messages, cursor: before === null ? null : String(before) }
    },
    async readCounts({ query }) {
      const { minutes } = query as { readonly minutes: number }
      const since = Math.floor(view.now() / 60_000 - minutes) * 60_000
      const { backlog, oldest, bytes, counts } = await view.queries.readSummary(since, minutes * 60_000)
      return { since, backlog, oldest, bytes, outcomes: counts }
    },
    async listProviders() {
      return { providers: listProviders(view) }
    },
    async readCalls() {
      return { channels: await readCalls(view) }
    },
    async readCauses({ headers }) {
      const summary = await readSummaryIfUp(view, view.now() - DAY, DAY)
      const language = languageOfBrowser(headers['accept-language'])
      const causes = causesOf(view, summary)
      return { causes: causes.map(cause => ({ ...cause, text: cause.text.in(language) })) }
    },
    async forgetRecipient({ operator, body }) {
      const { listMessages } = view.queries
      let [messages, live] = [0, 0]
      for (const recipientHash of hashesOf((body as { readonly recipient: string }).recipient)) {
        const filter = { recipientHash, limit: MOST_WAITING }
        for (const { id, channel, kind } of await listMessages({ ...filter, state: 'queued' }))
          if (await actions.cancelMessage(id))
            emit({ type: 'final', id, channel, kind, state: 'superseded', answer: null })
        messages += await actions.forgetRecipient(recipientHash)
        live += (await listMessages(filter)).length
      }
      emit({ type: 'operator-forgot', operator, messages })
      return { messages, live }
    },
  }
}
