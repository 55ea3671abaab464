import type { Sentence, Words } from '../language/sentence.ts'
import type { Channel, FaultScope, NewMessage } from '../messages/message.ts'
import type { DeliveryReport, FinalAnswer, KeptReport, State, StoreLoss } from '../outbox/outbox.ts'
import type { Outcome } from '../providers/provider.ts'

/** A callback and its answer. */
interface Answered {
  readonly err_code: number
  readonly err_msg: string
}

/** The channel and kind of the messages that an event is about. */
type MessageKind = Pick<NewMessage, 'channel' | 'kind'>
/** The message that an event is about. */
type MessageName = Pick<NewMessage, 'id' | 'channel' | 'kind'>

/** Callbacks, as the public listener answers them. */
type CallbackEvent =
  /** A callback was answered; by the route's pattern, never the URL. */
  | {
      readonly type: 'callback'
      readonly channel: Channel
      readonly method: 'GET' | 'POST'
      readonly kind: string
      readonly answer: Answered
      /** Why authentication refused its caller; null when it did not. */
      readonly refusal: 'corp' | 'source' | 'key' | 'signature' | 'stale' | null
      /** The key in its URL was right. */
      readonly knowsKey: boolean
      /** `callback-courier check` asked, and not the platform. */
      readonly isCheck?: boolean
      readonly signature: 'right' | 'wrong' | 'absent' | 'stale'
      /** It came by the URL that is being replaced. */
      readonly outdated: boolean
      /** Ids of its messages, its duplicates' included. */
      readonly ids: readonly string[]
      readonly tookMs: number
    }
  /** POSTs that were refused in one tick, because there are too many at once. */
  | {
      readonly type: 'overloaded'
      readonly channel: Channel
      readonly answer: Answered
      readonly times: number
    }
  /** Something else was asked for: no such path, no such method, or bytes that are not HTTP. */
  | { readonly type: 'stray-request'; readonly answer: Answered }
  | (MessageKind & { readonly type: 'unrenderable'; readonly error: Error })
  /** A quota refused a message, or a device alert. */
  | (MessageKind & {
      readonly type: 'over-quota'
      readonly quota: string
      /** Its recipient, masked: a domain is to be seen. */
      readonly to: string
    })
  /** More than half of a limit for the whole channel is used up. */
  | { readonly type: 'near-quota'; readonly channel: Channel; readonly quota: string; readonly to: string }
  /** An SMS is for a number to which nothing was delivered on an earlier day. `use`: how many are, of its calling code and an hour. */
  | { readonly type: 'newcomer'; readonly callingCode: string; readonly use: number }
  | (MessageKind & { readonly type: 'duplicate'; readonly is: 'in-progress' | 'finished' })
  /** The fate of a provider's delivery report; `forged`: its signature was wrong, and nothing else of it was read. */
  | (Pick<DeliveryReport, 'channel' | 'id' | 'status' | 'errorCode' | 'fault' | 'reply'> & {
      readonly type: 'receipt'
      readonly provider: string
      /** Empty when the report names our id alone. */
      readonly providerId: string
      readonly result: KeptReport['is'] | 'forged'
      /** The kind of the message, and its recipient as people may see it and as a hash, when the report was kept with it. */
      readonly kind?: string
      readonly masked?: string
      readonly recipient?: string
      /** ISO 3166; null: it has none. */
      readonly country?: string | null
      /** When its callback came, ms since the epoch. */
      readonly arrivedAt?: number
    })
  /** An SMS was reported as delivered, so long after its callback, ms. `country`: `other` when metrics name enough others. */
  | {
      readonly type: 'delivered'
      readonly provider: string
      readonly country: string
      readonly tookMs: number
    }
  | {
      /** A delivery report has a state that nothing here has a meaning for; told once. */
      readonly type: 'receipt-state'
      /** Where it came. */
      readonly path: string
      readonly state: string
    }

/** A fault that concerns a part of what a carrier is asked for. */
export interface PartialFault {
  readonly scope: FaultScope | 'carrier'
  /** The template, sender or country that is refused; empty for the carrier, and where all messages share one; the code of a report. */
  readonly name: string
  /** The kind of the message that was refused first. */
  readonly kind: string
  /** ms since the epoch. */
  readonly since: number
  /** Until when nothing in it is tried; null: nothing waits for it. ms since the epoch. */
  readonly until: number | null
  readonly code: string
  readonly reply: Words
  /** It took the messages, and then reported that they did not arrive: so many recipients have met that. Absent: it refuses them. */
  readonly recipients?: number
}

/** A partial fault that has just begun or ended. */
export interface PartialFaultChange {
  readonly is: 'begun' | 'over'
  readonly fault: PartialFault
}

type DeliveryEvent =
  | {
      readonly type: 'attempt'
      readonly message: Pick<NewMessage, 'id' | 'channel' | 'kind' | 'masked'>
      readonly provider: string
      readonly outcome: Outcome
      readonly attempts: number
      readonly tookMs: number
    }
  | (MessageName & {
      readonly type: 'final'
      readonly state: State
      readonly answer: FinalAnswer
      /** Arrival to end, ms; undefined for a message that ended without an attempt. */
      readonly tookMs?: number
      readonly providerId?: string
    })
  /** What is stored of a message was damaged or exchanged, so that it cannot be sent. */
  | (MessageName & { readonly type: 'unreadable' })
  /** A circuit breaker opened or closed. */
  | {
      readonly type: 'breaker'
      readonly channel: Channel
      readonly provider: string
      readonly state: 'open' | 'closed'
      readonly reason: Words
    }

  /**
   * A provider refuses a template, a sender or a country, and takes the rest; or that is over. With `recipients` it took the messages,
   * and reports that they did not arrive.
   */
  | (Omit<PartialFault, 'since' | 'until'> & {
      readonly type: 'partial-fault'
      readonly channel: Channel
      readonly provider: string
      readonly is: PartialFaultChange['is']
    })
  /** The delivery reports of an SMS carrier turned late or bad, or stopped, so that it is asked second; or they are good again. */
  | {
      readonly type: 'carrier-order'
      readonly provider: string
      /** For it alone; empty: for all with few reports of their own. */
      readonly country: string
      readonly isSecond: boolean
      /** Of reports in time and good, among the latest. */
      readonly share: number
    }

/** Device alerts, and the data subscription (DDQ) that they come by. */
type AlertEvent =
  | { readonly type: 'ddq-message'; readonly topic: string }
  /** Bytes or a message of the subscription cannot be used. The topic is empty when it cannot be read. */
  | {
      readonly type: 'ddq-malformed'
      readonly topic: string
      readonly fault: Sentence
      readonly shape: string
    }
  | { readonly type: 'ddq-subscribed'; readonly topics: number }
  /** One topic is refused, though others are not. */
  | { readonly type: 'ddq-topic-refused'; readonly topic: string; readonly why: Words }
  | { readonly type: 'ddq-ended'; readonly is: string; readonly why: Words; readonly waitMs: number }
  /** This process became the one that watches the devices, or another one did. */
  | { readonly type: 'ddq-leader'; readonly leads: boolean }
  | (MessageName & {
      readonly type: 'alert-sent'
      /** Masked. */
      readonly to: string
      readonly device: string
    })
  /** Somebody was not alerted, and why; `repeated`: the same message came before; `bounced`: mail to the address came back; `held`: by ONLY_TO. */
  | (MessageKind & {
      readonly type: 'alert-suppressed'
      readonly why: 'quiet' | 'not-alarmed' | 'outdated' | 'repeated' | 'bounced' | 'held'
    })

/** The mailbox that mails come back to. */
type BounceEvent =
  /** It is read from now on, or cannot be. */
  | { readonly type: 'bounce-mailbox'; readonly is: 'open' }
  | { readonly type: 'bounce-mailbox'; readonly is: 'failed'; readonly reason: Words }

/** Other machines, which are told what becomes of messages. */
type WebhookEvent =
  /** A POST ended. `reason`: why it failed; null: it did not. `gone`: the receiver wants nothing any more. */
  | {
      readonly type: 'webhooks-posted'
      readonly result: 'delivered' | 'failed' | 'gone'
      readonly events: number
      readonly reason: string | null
    }
  /** Events were dropped, because they had waited too long or too many waited. */
  | { readonly type: 'webhooks-dropped'; readonly count: number }

/** Robots of groups, which are told of alarms. */
interface RobotEvent {
  readonly type: 'robot-posted'
  readonly robot: string
  readonly alarms: number
  readonly outcome: Outcome
  /** These alarms are not posted any more. */
  readonly isDropped: boolean
}

/** The store and the process. */
type SystemEvent =
  /** The store could not take something. */
  | {
      readonly type: 'store-failed'
      /** `alerts`, `webhooks`: what device alerts and events need of it. */
      readonly doing: 'accept' | 'claim' | 'begin' | 'settle' | 'alerts' | 'webhooks'
      readonly error: Error
    }
  /** Something began that somebody should know, or is over: src/admin/facts.ts has all of them, and their sentences. */
  | {
      readonly type: 'fact'
      readonly is: 'begun' | 'over'
      readonly kind: string
      readonly level: 'fail' | 'warn' | 'ok'
      readonly about: string
      readonly scope: Readonly<Record<string, string>>
      readonly whose: 'ours' | 'theirs'
    }
  /** At the start: the store lacks what it had stored. */
  | ({ readonly type: 'store-loss' } & StoreLoss)
  /** A commit of the store: how long it took, and how many calls shared it. */
  | { readonly type: 'store-commit'; readonly ms: number; readonly calls: number }
  /** A bug. */
  | { readonly type: 'fault'; readonly error: Error }

/** The reasons why a request to the private listener is refused: a label of metrics, and a field of the log. */
export const ADMIN_REFUSALS = [
  'host',
  'two-hosts',
  'cross-site',
  'no-token',
  'wrong-token',
  'metrics-token',
  'status-token',
  'too-many-tries',
] as const
export type AdminRefusal = (typeof ADMIN_REFUSALS)[number]

/** The private listener. */
type AdminEvent =
  /** A request to the private listener was refused. */
  | { readonly type: 'admin-refused'; readonly reason: AdminRefusal }
  /** An operator did something: took a copy of the store, had a recipient forgotten, or pressed a button of the console. */
  | {
      readonly type: 'operator'
      /** A name of ADMIN_TOKENS, with `/` and the user for whom it asked; `admin` has the password without a name, and `local` needed none. */
      readonly operator: string
      readonly did: 'backup' | 'forget' | 'retry' | 'cancel' | 'test-send' | 'allow-again'
      /** How many messages were forgotten. */
      readonly messages?: number
      /** The messages it was done to, or that it made. */
      readonly channel?: Channel
      readonly kind?: string
      readonly ids?: readonly string[]
    }

/**
 * Everything that the parts of the service report; the log, the metrics and the console's figures are made from it.
 * No event holds a recipient in full, a code, a link, a key or a URL.
 */
export type ServiceEvent =
  | CallbackEvent
  | DeliveryEvent
  | AlertEvent
  | BounceEvent
  | WebhookEvent
  | RobotEvent
  | SystemEvent
  | AdminEvent
export type EventType = ServiceEvent['type']
export type EventOf<T extends EventType> = Extract<ServiceEvent, { readonly type: T }>

export type Emit = (event: ServiceEvent) => void

/** The handlers of a sink (a log, metrics) for the events that it is interested in. */
export type EventHandlers = { readonly [T in EventType]?: (event: EventOf<T>) => void }

/** @returns a function that hands each event to every sink that has a handler for it, in the order of the sinks. */
export function createEmitter(sinks: readonly EventHandlers[]): Emit {
  const all = sinks.flatMap(sink => Object.entries(sink) as [EventType, (event: ServiceEvent) => void][])
  const handlers = Map.groupBy(all, ([type]) => type)
  return event => {
    for (const [, handle] of handlers.get(event.type) ?? []) handle(event)
  }
}
