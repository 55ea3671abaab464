import { say, type Words, wordsOf } from '../../language/sentence.ts'
import type { NewMessage } from '../../messages/message.ts'
import type { Acceptance, Accepted, Outbox } from '../../outbox/outbox.ts'
import { type Clock, withTimeout } from '../../runtime/clock.ts'
import { type HealthRecord, leaveAlone, newHealthRecord, recover } from '../../runtime/health-record.ts'
import { createHttpApi, type HttpProxy, type HttpRequest, outcomeWithoutAnswer } from '../http-client.ts'
import type { Outcome } from '../provider.ts'
import { createRedactor, NO_MESSAGE } from '../redact.ts'
import { gatewayOutcome, readReply } from './answers.ts'
import type { Gateway } from './definition.ts'
import { fixedScope, RequestFault } from './request.ts'

export interface RobotsOptions {
  /** The gateways whose channel is `chat`. */
  readonly robots: readonly Gateway[]
  readonly secrets: ReadonlyMap<string, string>
  readonly clock: Clock
  readonly proxy?: HttpProxy | undefined
  /** Puts an alarm into words. */
  readonly textOf: (message: NewMessage) => string
  readonly onPost: (post: RobotPost) => void
  /** How long alarms are collected for one post, ms: groups take 20 posts a minute. */
  readonly collectMs?: number
}

/** What became of one post to a group. */
export interface RobotPost {
  readonly robot: string
  readonly alarms: number
  readonly outcome: Outcome
  /** Some of them are not posted any more: the robot refuses them, or has taken nothing for too long. */
  readonly isDropped: boolean
}

const COLLECT_MS = 10_000
/** An alarm that no post has taken for so long, ms, is no news any more; its mail or SMS has gone its own way. */
const STALE_MS = 15 * 60_000
/** WeCom takes 2,048 octets of text, DingTalk and Feishu 20,000; how many more there are comes on top. */
const MOST_OCTETS = 2000
const MOST_OF_ONE = 400
/** The most alarms that one robot has waiting: beyond them the post says how many more there are. */
const MOST_WAITING = 200
const LAST_POST_MS = 2000

interface Waiting {
  readonly text: string
  readonly since: number
}

/** What a group's robot fails for. */
interface RobotFault {
  /** It does not pass by itself. */
  readonly isRefused: boolean
  readonly code: string
  readonly reply: Words
}

export interface Robots {
  /** Takes the messages of a callback, or of devices' alerts, with what the store made of them. */
  note(messages: readonly Acceptance[], accepted: readonly Accepted[]): void
  /** Posts a text to each group. */
  add(text: string): void
  status(): readonly (HealthRecord<RobotFault> & { readonly robot: string })[]
  /** Posts what is left, within two seconds. */
  close(): Promise<unknown>
}

/**
 * Posts alarms to groups of DingTalk, Feishu, WeCom and the like, beside the mails and SMS that they are about. What is collected is in
 * memory alone: a crash loses a post, and never the message.
 */
export function createRobots(options: RobotsOptions): Robots {
  const { robots, textOf } = options
  const posters = robots.map(robot => createPoster(robot, options))
  const known = new WeakSet<object>()
  const add = (text: string) => {
    for (const poster of posters) poster.add(text)
  }
  return {
    add,
    note(messages, accepted) {
      // The recipients of one alarm share its parameters. It is posted in the words of its mail, if it has one: an SMS says less, and may
      // be a carrier's template.
      const alarms = new Map<object, NewMessage>()
      for (const [at, { message }] of messages.entries()) {
        const { params } = message.content
        const isNew = message.purpose === 'alarm' && accepted[at]?.is === 'stored' && !known.has(params)
        if (isNew && alarms.get(params)?.channel !== 'email') alarms.set(params, message)
      }
      for (const params of alarms.keys()) known.add(params)
      const texts = new Set([...alarms.values()].map(textOf))
      for (const text of texts) add(text)
    },
    status: () => posters.map(({ name, health }) => ({ robot: name, ...health })),
    close: () => Promise.all(posters.map(({ close }) => close())),
  }
}

/** Makes the acceptance of messages that tells robots of those that were stored. */
export function tellRobots(accept: Outbox['accept'], robots: Robots): Outbox['accept'] {
  return async messages => {
    const accepted = await accept(messages)
    robots.note(messages, accepted)
    return accepted
  }
}

function createPoster(
  robot: Gateway,
  { secrets, clock, onPost, proxy, collectMs = COLLECT_MS }: RobotsOptions,
) {
  const { name, origin, limits } = robot
  const redactor = createRedactor(NO_MESSAGE, [...secrets.values()])
  const api = createHttpApi({ baseUrl: origin, connections: 1, limits, clock, proxy })
  const health = newHealthRecord<RobotFault>()
  let waiting: Waiting[] = []
  /** Those beyond MOST_WAITING. */
  let more = 0
  let timer: NodeJS.Timeout | undefined
  let posting: Promise<void> | undefined
  let isClosed = false
  /** The time for the last post is over. */
  let isOver = false

  function schedule(): void {
    if (isClosed) return
    const restMs = health.until - clock.now()
    timer ??= setTimeout(
      () => {
        timer = undefined
        posting = post().finally(() => (posting = undefined))
      },
      Math.max(collectMs, restMs),
    ).unref()
  }

  async function post(): Promise<void> {
    const posted = waiting
    const unnamed = more
    waiting = []
    more = 0
    const outcome = await ask(joinTexts(posted, unnamed))
    const now = clock.now()
    if (outcome.is === 'sent') recover(health)
    else {
      const { is, code, reply } = outcome
      const isRefused = is === 'rejected' || (is === 'retry' && outcome.whose === 'ours')
      const leastMs = 'retryAfterMs' in outcome ? outcome.retryAfterMs : 0
      leaveAlone(health, { isRefused, code, reply }, isRefused, now, { leastMs, firstMs: collectMs })
    }
    const mayWait = outcome.is !== 'sent' && outcome.is !== 'rejected'
    const fresh = mayWait ? posted.filter(({ since }) => now - since < STALE_MS) : []
    onPost({
      robot: name,
      alarms: posted.length + unnamed,
      outcome,
      isDropped: outcome.is !== 'sent' && fresh.length < posted.length,
    })
    waiting = [...fresh, ...waiting]
    if (fresh.length > 0) more += unnamed
    if (waiting.length > 0) schedule()
  }

  async function ask(text: string): Promise<Outcome> {
    let request: HttpRequest
    try {
      request = robot.request({ ...fixedScope(secrets, robot.request), text })
    } catch (error) {
      if (!(error instanceof RequestFault)) throw error
      return {
        is: 'retry',
        whose: 'ours',
        code: 'RENDER',
        reply: say('its request {problem}', { problem: wordsOf(error) }),
      }
    }
    const result = await api.request(request)
    if (!('value' in result)) return outcomeWithoutAnswer(result, name)
    return gatewayOutcome(robot.answer, readReply(result.value), redactor, clock.now())
  }

  /** Posts what came during the post that is under way, too. */
  async function postTheRest(): Promise<void> {
    await posting
    if (waiting.length > 0 && !isOver) await post()
  }

  return {
    name,
    health,
    add(text: string): void {
      if (waiting.some(each => each.text === text)) return
      if (waiting.length < MOST_WAITING) waiting.push({ text, since: clock.now() })
      else more += 1
      if (posting === undefined) schedule()
    },
    async close(): Promise<void> {
      isClosed = true
      clearTimeout(timer)
      await withTimeout(LAST_POST_MS, postTheRest())
      isOver = true
      await api.close()
    },
  }
}

/** Joins alarms to the text of one post, as many as find room. A device cannot call a group together: Feishu reads `<at …>`. */
function joinTexts(alarms: readonly Waiting[], unnamed: number): string {
  const texts: string[] = []
  let octets = 0
  for (const { text } of alarms) {
    const own = shorten(text.replace(/<(?=\/?at\b)/gi, '‹'))
    octets += Buffer.byteLength(own) + 2
    if (octets > MOST_OCTETS) break
    texts.push(own)
  }
  const left = alarms.length - texts.length + unnamed
  return [...texts, ...(left > 0 ? [`… +${left}`] : [])].join('\n\n')
}

function shorten(text: string): string {
  const characters = Array.from(text)
  return characters.length <= MOST_OF_ONE ? text : `${characters.slice(0, MOST_OF_ONE - 1).join('')}…`
}
