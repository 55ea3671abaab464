import type { FastifyInstance } from 'fastify'
import type { Channel } from '../messages/message.ts'
import { type AdminQueries, type MessageView, StoreUnavailable } from '../outbox/outbox.ts'
import type { ChannelCalls } from './explain.ts'
import type { ServiceHealth } from './service-health.ts'

/** The answer to `POST /find`. */
export interface Found {
  /** Of the recipient, the newest first. */
  readonly messages: readonly MessageView[]
  readonly calls: Readonly<Partial<Record<Channel, ChannelCalls>>>
}

export interface FindOptions {
  readonly queries: Pick<AdminQueries, 'listMessages'>
  readonly health: Pick<ServiceHealth, 'refusals' | 'validation'>
  readonly channels: readonly Channel[]
  /** Null: neither an address nor a number. */
  readonly recipientHash: (typed: string) => string | null
}

/** Messages of one answer: as many as a screen has. */
const MOST = 10
const BODY = {
  type: 'object',
  required: ['recipient'],
  properties: { recipient: { type: 'string', maxLength: 320 } },
}

/**
 * `POST /find` with `{"recipient": "…"}`: a recipient's newest messages, and how the platform's calls looked lately. The
 * recipient stands in the body, and so in no address or log.
 */
export function findRoute(app: FastifyInstance, options: FindOptions): void {
  app.post<{ Body: { readonly recipient: string } }>(
    '/find',
    { schema: { body: BODY }, bodyLimit: 2048 },
    async ({ body }, reply) => {
      const recipientHash = options.recipientHash(body.recipient.trim())
      if (recipientHash === null)
        return reply
          .code(400)
          .type('text/plain')
          .send('recipient: neither a mail address nor a phone number\n')
      try {
        const messages = await options.queries.listMessages({ recipientHash, limit: MOST })
        return { messages, calls: await readCalls(options) } satisfies Found
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        return reply.code(503).type('text/plain').send(`${error.message}\n`)
      }
    },
  )
}

/** How the platform's calls of each channel looked lately. @throws StoreUnavailable */
export async function readCalls({
  queries,
  health,
  channels,
}: Pick<FindOptions, 'queries' | 'health' | 'channels'>): Promise<Found['calls']> {
  const calls = channels.map(async channel => {
    const [newest] = await queries.listMessages({ channel, limit: 1 })
    const { refusals, validation } = health
    return [
      channel,
      { newestAt: newest?.arrivedAt ?? null, refusals: refusals(channel), validation: validation(channel) },
    ] as const
  })
  return Object.fromEntries(await Promise.all(calls))
}
