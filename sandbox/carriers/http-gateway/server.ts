import type http from 'node:http'
import {
  type CarrierAnswer,
  type CarrierFault,
  type CarrierServer,
  createCarrierServer,
  pushBounded,
} from '../api-server.ts'

/** A message that was accepted. */
export interface GatewayMessage {
  /** The gateway's id of it. */
  readonly id: string
  /** Our id. */
  readonly ref: string
  readonly from: string
  /** E.164. */
  readonly to: string
  readonly body: string
  /** ms since the epoch. */
  readonly at: number
}

/** A request as it came in. */
export interface GatewayApiRequest {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: Readonly<http.IncomingHttpHeaders>
  readonly body: string
}

/** The form of one gateway's API, by its published description. */
export interface GatewayDialect {
  /** Answers a request. @param take accepts a message. */
  answer(request: GatewayApiRequest, take: (message: Omit<GatewayMessage, 'at'>) => void): CarrierAnswer
  /** A refusal by a published code. */
  refusal(code: string, words?: string): CarrierAnswer
  /** The delivery report of a message. */
  report(message: GatewayMessage, isDelivered: boolean): unknown
}

export interface GatewayStandIn extends CarrierServer<GatewayApiRequest> {
  /** Accepted messages, oldest first, at most `keep` of them. */
  readonly messages: readonly GatewayMessage[]
}

/** A stand-in of an HTTP gateway, which can misbehave. */
export function createGatewayStandIn(
  dialect: GatewayDialect,
  options: {
    readonly fault?: (request: GatewayApiRequest) => CarrierFault | undefined
    readonly onMessage?: (message: GatewayMessage) => void
    readonly now?: () => number
    readonly keep?: number
  } = {},
): GatewayStandIn {
  const { fault, onMessage, now = Date.now, keep = 10_000 } = options
  const messages: GatewayMessage[] = []
  const server = createCarrierServer<GatewayApiRequest>({
    read: ({ method = '', url = '', headers }, body) => ({ method, url, headers, body }),
    route: request =>
      dialect.answer(request, taken => {
        const message = { ...taken, at: now() }
        pushBounded(messages, message, keep)
        onMessage?.(message)
      }),
    fault,
    keep,
  })
  return { ...server, messages }
}
