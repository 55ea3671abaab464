import type { ChannelStatus } from '../../delivery/port.ts'
import type { Words } from '../../language/sentence.ts'
import type { Channel } from '../../messages/message.ts'
import type {
  AdminQueries,
  ListFilter,
  MessageList,
  MessageView,
  Summary,
  WaitingDestination,
} from '../../outbox/outbox.ts'
import { StoreUnavailable } from '../../outbox/outbox.ts'
import type { ChannelHealth, ProviderStatus } from '../service-health.ts'
import type { ServiceView } from '../service-view.ts'

/** The path of the status API on the private listener. */
export const API = '/api/v1'

/** A provider: how its last attempts went, as far as this process has seen, and what it may be given. */
export interface ProviderView
  extends Omit<ChannelStatus, 'destinations'>,
    Pick<ProviderStatus, 'lastError' | 'lastSentAt'> {
  /** It says whether the last attempt got an answer; null when there was none since the start. */
  readonly up: boolean | null
  /** The time since which it is up or down, ms since the epoch. */
  readonly since: number | null
  /** It is asked second for all countries with few reports of their own; `secondIn` has the others. */
  readonly isSecond: boolean
  /** The worst of its destinations: ten at most, those that rest first, then those with most under way. */
  readonly destinations: readonly DestinationView[]
}

/** How it goes where messages go. */
export interface DestinationView {
  /** The domain of its mailboxes, or what masked numbers show of a country; null: nobody here knows. */
  readonly place: string | null
  readonly inFlight: number
  /** How many wait, in memory and in the store. */
  readonly waiting: number
  /** When the first of those in the store became due, or will, ms since the epoch; null: none is known to wait there. */
  readonly oldestAt: number | null
  /** Nothing goes there until then, ms since the epoch, and why; null: it does not rest. */
  readonly restsUntil: number | null
  readonly why: Words | null
}

const MOST_DESTINATIONS = 10

/** The platform's latest calls of a channel. */
export interface ChannelCalls extends Pick<ChannelHealth, 'refusals' | 'heldBack' | 'validation'> {
  readonly channel: Channel
  /** The time at which its newest message to anybody came, ms since the epoch; null when there is none in the store. */
  readonly newestAt: number | null
}

/** Messages, the newest first, and where the next page begins. */
export interface MessagePage {
  readonly messages: readonly MessageView[]
  /** `ListFilter.before` of the next page; null: this is the last one. */
  readonly before: number | null
  /** How many there are of this page and the next ones, as many as were looked at. */
  readonly found: number
  /** Only what arrived since then was looked through, ms since the epoch; the next page goes on there. Null: nothing was left out. */
  readonly lookedFrom: number | null
}

/** Reads what waits and what became of messages; null: the store does not answer. */
export async function readSummaryIfUp({ queries }: ServiceView, since: number): Promise<Summary | null> {
  try {
    return await queries.readSummary(since)
  } catch (error) {
    if (error instanceof StoreUnavailable) return null
    throw error
  }
}

/** @param stored what waits in the store, by channel: it is told with the first provider of the channel. */
export function listProviders(
  { channelStatus, health }: ServiceView,
  stored: ReadonlyMap<Channel, readonly WaitingDestination[]> = new Map(),
): readonly ProviderView[] {
  const told = new Set<Channel>()
  return channelStatus().map(status => {
    const seen = health.providers().find(each => each.provider === status.provider)
    const { up = null, since = null, lastError = null, lastSentAt = null } = seen ?? {}
    const waiting = told.has(status.channel) ? [] : (stored.get(status.channel) ?? [])
    told.add(status.channel)
    const known = new Map(status.destinations.map(each => [each.destination, each]))
    const destinations = [...new Set([...known.keys(), ...waiting.map(each => each.destination)])]
      .map((destination): DestinationView => {
        const { place = null, inFlight = 0, waiting: inMemory = 0, rest } = known.get(destination) ?? {}
        const { count = 0, dueAt = null } = waiting.find(each => each.destination === destination) ?? {}
        const { until = null, reply = null } = rest ?? {}
        return { place, inFlight, waiting: inMemory + count, oldestAt: dueAt, restsUntil: until, why: reply }
      })
      .sort((a, b) => (b.restsUntil ?? 0) - (a.restsUntil ?? 0) || weigh(b) - weigh(a))
      .slice(0, MOST_DESTINATIONS)
    const isSecond = status.secondIn.includes('')
    const secondIn = status.secondIn.filter(country => country !== '')
    return { ...status, isSecond, secondIn, destinations, up, since, lastError, lastSentAt }
  })
}

const weigh = ({ inFlight, waiting }: DestinationView): number => inFlight + waiting

/** Lists the providers with what waits for their destinations in the store, as far as it answers. */
export async function readProviders(view: ServiceView): Promise<readonly ProviderView[]> {
  const stored = new Map<Channel, readonly WaitingDestination[]>()
  try {
    for (const channel of view.channels) {
      const known = view
        .channelStatus()
        .filter(each => each.channel === channel)
        .flatMap(each => each.destinations.filter(({ rest, waiting }) => rest !== null || waiting > 0))
        .map(({ destination }) => destination)
      stored.set(channel, await view.queries.readWaiting(channel, known))
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
  }
  return listProviders(view, stored)
}

/** @throws StoreUnavailable */
export function readCalls({ channels, health, queries }: ServiceView): Promise<readonly ChannelCalls[]> {
  return Promise.all(
    channels.map(async channel => {
      const { refusals, heldBack, validation } = health.ofChannel(channel)
      const [newest] = (await readRows(queries, { channel }, 1)).messages
      return { channel, newestAt: newest?.arrivedAt ?? null, refusals, heldBack, validation }
    }),
  )
}

/** What people ask of messages. */
export type Question = Omit<ListFilter, 'limit'>

/** Messages of one page. */
const PAGE_ROWS = 50
/** More recipients than a callback may have (MAX_RECIPIENTS), and one row more. */
const MOST_AT_ONCE = 1001

/** For a page the store looks through what it has so many times, each time further back; between them it does other work. */
const MOST_LOOKS = 20

async function readRows(
  queries: Pick<AdminQueries, 'listMessages'>,
  question: Question,
  most: number,
): Promise<MessageList> {
  const found: MessageView[] = []
  let asked = question
  for (let looks = 1; ; looks += 1) {
    const { messages, lookedFrom } = await queries.listMessages({ ...asked, limit: most - found.length })
    found.push(...messages)
    if (lookedFrom === null || looks === MOST_LOOKS) return { messages: found, lookedFrom }
    asked = { ...question, before: lookedFrom }
  }
}

/**
 * Reads a page. The next page begins before the last row's arrival, and all messages of one callback arrived at once: so a page ends
 * between two callbacks, never within one.
 * @param most rows that are looked at. @throws StoreUnavailable
 */
export async function readPage(
  view: ServiceView,
  question: Question,
  most: number = PAGE_ROWS + 1,
): Promise<MessagePage> {
  const { messages: rows, lookedFrom } = await readRows(view.queries, question, most)
  const looked = { found: rows.length, lookedFrom }
  const edge = rows[PAGE_ROWS]?.arrivedAt
  if (edge === undefined) return { messages: rows, before: lookedFrom, ...looked }
  const messages = rows.slice(0, PAGE_ROWS).filter(row => row.arrivedAt !== edge)
  const last = messages.at(-1)
  if (last !== undefined) return { messages, before: last.arrivedAt, ...looked }
  // One callback fills the page: it is shown whole.
  if (most < MOST_AT_ONCE) return readPage(view, question, MOST_AT_ONCE)
  const end = rows.findIndex(row => row.arrivedAt !== edge)
  return { messages: end < 0 ? rows : rows.slice(0, end), before: end < 0 ? lookedFrom : edge, ...looked }
}
