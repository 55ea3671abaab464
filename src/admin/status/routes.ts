import type { FastifyInstance, FastifyRequest } from 'fastify'
import { languageOfBrowser } from '../../language/choose.ts'
import type { Channel } from '../../messages/message.ts'
import type { State } from '../../outbox/outbox.ts'
import { causesOf, DAY } from '../console/causes.ts'
import { type Failure, RequestRefused } from '../failure.ts'
import type { ServiceView } from '../service-view.ts'
import { API, API_OPERATIONS, OPENAPI_PATH, type Operation, type OperationId, openApi } from './openapi.ts'
import type { Status } from './status.ts'

export interface StatusRoutesOptions {
  readonly status: Status
  /** Finds the hash of a recipient; null: it is neither an address nor a number. */
  readonly recipientHash: (typed: string) => string | null
  readonly view: ServiceView
}

/** Octets of a search. */
const BODY_LIMIT = 4096

const NO_SUCH_MESSAGE: Failure = {
  status: 404,
  error: 'not-found',
  message: 'no such message; it may have been pruned',
}
export const NO_RECIPIENT: Failure = {
  status: 400,
  error: 'invalid',
  message: 'body.recipient is neither a mail address nor a phone number in full (+86…)',
}

interface Search {
  readonly recipient?: string
  readonly channel?: Channel
  readonly state?: State
  readonly kind?: string
  readonly since?: number
  readonly before?: number
  readonly cursor?: string
}

/** Serves the status API: read-only JSON, as operations.ts has it. The guard has let the caller in before. */
export async function statusRoutes(app: FastifyInstance, options: StatusRoutesOptions): Promise<void> {
  const handlers = createHandlers(options)
  app.removeContentTypeParser('text/plain')
  for (const [name, operation] of Object.entries<Operation>(API_OPERATIONS)) {
    const { method, path, params, query, body } = operation
    app.route({
      method,
      url: `${API}${path.replace(/\{(\w+)\}/g, ':$1')}`,
      bodyLimit: BODY_LIMIT,
      schema: {
        ...(params === undefined ? {} : { params: { type: 'object', properties: params } }),
        ...(query === undefined
          ? {}
          : { querystring: { type: 'object', properties: query, additionalProperties: false } }),
        ...(body === undefined ? {} : { body }),
      },
      handler: request => handlers[name as OperationId](request),
    })
  }
  app.get(OPENAPI_PATH, () => openApi())
}

function createHandlers({
  status,
  recipientHash,
  view,
}: StatusRoutesOptions): Readonly<Record<OperationId, (request: FastifyRequest) => Promise<object>>> {
  return {
    async findMessage({ params }) {
      const found = await status.findMessage((params as { readonly id: string }).id)
      if (found === null) throw new RequestRefused(NO_SUCH_MESSAGE)
      return found
    },
    async searchMessages({ body }) {
      const { recipient, cursor, ...filter } = body as Search
      const hash = recipient === undefined ? undefined : recipientHash(recipient)
      if (hash === null) throw new RequestRefused(NO_RECIPIENT)
      const { messages, before } = await status.listMessages({
        ...filter,
        ...(hash === undefined ? {} : { recipientHash: hash }),
        ...(cursor === undefined ? {} : { before: Number(cursor) }),
      })
      return { messages, cursor: before === null ? null : String(before) }
    },
    async readCounts({ query }) {
      const { minutes } = query as { readonly minutes: number }
      const since = Math.floor(view.now() / 60_000 - minutes) * 60_000
      const { backlog, oldest, bytes, counts } = await status.readSummary(since, minutes * 60_000)
      return { since, backlog, oldest, bytes, outcomes: counts }
    },
    async listProviders() {
      return { providers: status.providers() }
    },
    async readCalls() {
      return { channels: await status.readCalls() }
    },
    async readCauses({ headers }) {
      const summary = await view.queries.readSummary(view.now() - DAY, DAY).catch(() => null)
      const language = languageOfBrowser(headers['accept-language'])
      const causes = causesOf(view, summary)
      return { causes: causes.map(cause => ({ ...cause, text: cause.text.in(language) })) }
    },
  }
}
