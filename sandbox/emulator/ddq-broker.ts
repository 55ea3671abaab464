import type { Http2Session, ServerHttp2Stream } from 'node:http2'
import { stringifyExactly } from '../../src/runtime/exact-json.ts'
import type { ContractChecker, SchemaName } from './contract.ts'
import { createDdqFeed, type Feed, type FeedFault } from './ddq-feed.ts'

/** A message for the subscribers of its topic. */
export interface Publication {
  readonly topic: string
  readonly id: string | number
  readonly payload: object
  /** Schema of its payload; left out for a topic that the contract does not have. */
  readonly schema?: SchemaName
}

/** The ways of sending messages that the contract leaves open. */
export interface DdqVariant {
  idKey: 'message_id' | 'msgId'
  /** The HTTP/2 stream that messages are sent on: each subscription's own, or the authentication's. */
  on: 'subscription' | 'authentication'
  separator: '\n' | ''
}

export interface DdqConnection {
  authenticated: boolean
  /** The stream of its authentication, when messages are sent on that. */
  authentication: ServerHttp2Stream | undefined
  readonly feeds: { readonly topic: string; readonly feed: Feed }[]
}

export interface DdqBrokerOptions {
  readonly contract: ContractChecker
  readonly randomInt: (below: number) => number
  /** The wildcard that a topic may have in place of a product. */
  readonly anyProduct: string
  readonly variant: DdqVariant
  readonly onChange: () => void
}

/** The connections of clients, their subscriptions, and what is published to them. */
export interface DdqBroker {
  connect(session: Http2Session): void
  disconnect(session: Http2Session): void
  disconnectAll(): void
  connectionOf(session: Http2Session): DdqConnection | undefined
  /** Sends messages of this topic on this stream from now on. */
  subscribe(client: DdqConnection, topic: string, stream: ServerHttp2Stream): void
  /** Sends a message to its subscriptions and returns their number. Who subscribes later does not get it. */
  publish(publication: Publication): number
  setFault(fault: FeedFault, on: boolean): void
  faults(): readonly FeedFault[]
  /** Makes each new subscription get the last messages once more, as from a broker that got no acknowledgement. */
  setRedelivery(on: boolean): void
  statistics(): {
    readonly connections: number
    readonly topics: readonly string[]
    readonly sent: number
    readonly overruns: number
  }
}

const KEPT_FOR_REDELIVERY = 20

export function createDdqBroker(options: DdqBrokerOptions): DdqBroker {
  const { contract, randomInt, anyProduct, variant, onChange } = options
  const clients = new Map<Http2Session, DdqConnection>()
  const faults = new Set<FeedFault>()
  let recent: readonly { readonly topic: string; readonly text: string }[] = []
  let redelivering = false
  let sent = 0
  let overruns = 0
  const feedsOfAll = () => [...clients.values()].flatMap(({ feeds }) => feeds)

  return {
    connect(session) {
      clients.set(session, { authenticated: false, authentication: undefined, feeds: [] })
      onChange()
    },
    disconnect(session) {
      for (const { feed } of clients.get(session)?.feeds ?? []) feed.close()
      clients.delete(session)
      onChange()
    },
    disconnectAll() {
      for (const session of clients.keys()) session.destroy()
    },
    connectionOf: session => clients.get(session),
    subscribe(client, topic, stream) {
      const onOverrun = () => void (overruns += 1)
      const feed = createDdqFeed({ stream, faulty: fault => faults.has(fault), randomInt, onOverrun })
      client.feeds.push({ topic, feed })
      const again = redelivering ? recent.filter(each => matchesTopic(topic, each.topic, anyProduct)) : []
      for (const each of again) feed.send(each.text)
      onChange()
    },
    publish({ topic, id, payload, schema }) {
      const body = { topic, [variant.idKey]: id, payload }
      requireContract(contract, 'DDQ message', body)
      if (schema !== undefined) requireContract(contract, schema, payload)
      const line = `${stringifyExactly(body)}${variant.separator}`
      recent = [...recent, { topic, text: line }].slice(-KEPT_FOR_REDELIVERY)
      const receivers = feedsOfAll().filter(each => matchesTopic(each.topic, topic, anyProduct))
      for (const { feed } of receivers) feed.send(line)
      sent += receivers.length
      return receivers.length
    },
    setFault: (fault, on) => void (on ? faults.add(fault) : faults.delete(fault)),
    faults: () => [...faults],
    setRedelivery: on => void (redelivering = on),
    statistics: () => ({
      connections: clients.size,
      topics: feedsOfAll().map(({ topic }) => topic),
      sent,
      overruns,
    }),
  }
}

/** @throws when what the emulator is about to send leaves the contract. */
function requireContract(contract: ContractChecker, name: SchemaName, value: object): void {
  const violation = contract.validate('emulator', name, value)
  if (violation !== null)
    throw new Error(`the emulator's ${violation.body} leaves the contract: ${violation.fault}`)
}

/** Whether a subscription is for a topic: for the same one, or for the same one of any product. */
function matchesTopic(subscribed: string, topic: string, anyProduct: string): boolean {
  const [have, want] = [subscribed.split('/'), topic.split('/')]
  return have.length === want.length && have.every((part, at) => part === want[at] || part === anyProduct)
}
