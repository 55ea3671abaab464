import { testBody } from '../admin/console/send.ts'
import type { ProbeFailure } from '../admin/service-view.ts'
import { type Authentication, PROBE_HEADER } from '../callback/authenticate.ts'
import { CHECK_AGENT } from '../callback/routes.ts'
import { createCallbackClient } from '../commands/callback-client.ts'
import type { Config } from '../config/config.ts'
import { languageOfBrowser } from '../language/choose.ts'
import { quote, type Sentence, say, term, type Words } from '../language/sentence.ts'
import { callbackKinds } from '../messages/kinds.ts'
import { type Channel, newMessageId } from '../messages/message.ts'
import type { AdminQueries, FinalState, MemoStore, State } from '../outbox/outbox.ts'
import { type Clock, monotonic } from '../runtime/clock.ts'
import { createLeadership } from '../runtime/leadership.ts'
import { repeat } from '../runtime/retry.ts'
import { routeOf } from '../settings/senders.ts'
import { countryOf } from '../words/render.ts'
import { callbackUrls, hostNameOf } from './callback-urls.ts'

/** This file is loaded only when PROBE_TO is set. */

/** How often it is looked whether a code is due, or has arrived, ms. */
const LOOK_EVERY_MS = 60_000
/** What surely was not sent is sent again after so long, ms. */
const AGAIN_MS = 5 * 60_000
/** A code that has not arrived so long after it was due, ms, is told. Carriers report within minutes. */
const WITHIN_MS = 15 * 60_000
const KEPT_MS = 30 * 86_400_000
const LEASE = { ttlMs: 30_000, renewEveryMs: 10_000 }
/** Ends by which nothing went out. */
const UNSENT: ReadonlySet<State> = new Set<FinalState>(['refused', 'expired', 'superseded'])

interface ProbeOptions {
  /** Whom a code goes to, by channel. */
  readonly targets: ReadonlyMap<Channel, string>
  /** The time of the day, `09:00`. */
  readonly at: string
  /** Calls this service as the platform does. @returns what it answered */
  readonly post: (channel: Channel, to: string, id: string) => Promise<Words>
  readonly findMessage: AdminQueries['findMessage']
  /** They keep which message was the last. */
  readonly memos: MemoStore
  /** Takes or keeps the leader lease among replicas; undefined when this process is the only one. */
  readonly takeLease: ((ttlMs: number) => Promise<boolean>) | undefined
  readonly clock: Clock
}

/** A channel's last code: which message, when it was sent, and when it was due, ms since the epoch. */
interface LastProbe {
  readonly id: string
  readonly at: number
  readonly since: number
}
const NONE: LastProbe = { id: '', at: 0, since: 0 }

/** Sends a code a day by each channel, by one replica, and says which has not arrived. The first one goes out at once. */
export function createProbe({ targets, at, post, findMessage, memos, takeLease, clock }: ProbeOptions) {
  const failures = new Map<Channel, ProbeFailure>()
  let stopping: AbortController | undefined

  async function look(channel: Channel, to: string): Promise<void> {
    const name = `probe/${channel}`
    const now = clock.now()
    let last: LastProbe = JSON.parse((await memos.readMemos([name])).get(name) ?? JSON.stringify(NONE))
    if (last.since < latestTime(at, now)) last = { ...NONE, since: now }
    let message = await findMessage(last.id)
    let why: Words = failures.get(channel)?.why ?? say('it was not accepted')
    if ((message === null || UNSENT.has(message.state)) && now - last.at >= AGAIN_MS) {
      last = { ...last, id: newMessageId(now), at: now }
      await memos.writeMemo({ name, value: JSON.stringify(last), expiresAt: now + KEPT_MS })
      why = await post(channel, to, last.id)
      message = await findMessage(last.id)
    }
    const status = message?.receipt?.status
    if (status === 'delivered' || status === 'read') failures.delete(channel)
    else if (now - last.since >= WITHIN_MS) {
      if (message !== null) why = term(status ?? message.state)
      failures.set(channel, { channel, since: failures.get(channel)?.since ?? last.since, why })
    }
  }

  async function step(): Promise<number> {
    // What the store cannot say now is looked at again.
    for (const [channel, to] of targets) await look(channel, to).catch(() => undefined)
    return LOOK_EVERY_MS
  }

  const leadership = createLeadership({
    ...LEASE,
    takeLease,
    now: monotonic,
    onError: () => {},
    onChange(isLeader) {
      stopping?.abort()
      failures.clear()
      if (!isLeader) return
      stopping = new AbortController()
      void repeat(step, stopping.signal)
    },
  })
  return {
    start: leadership.start,
    stop: leadership.stop,
    failures: (): readonly ProbeFailure[] => [...failures.values()],
  }
}

/** When it was this time of the day last, by TZ, ms since the epoch. */
function latestTime(time: string, now: number): number {
  const [hour = 0, minute = 0] = time.split(':').map(Number)
  const at = new Date(now)
  at.setHours(hour, minute, 0, 0)
  if (at.getTime() > now) at.setDate(at.getDate() - 1)
  return at.getTime()
}

/**
 * Makes the call of this process to its own public listener, by the certificate that is served and the host of PUBLIC_URL: what lies in
 * front of it is not called, since another replica might be there, and knows nothing of the value.
 * @param ownUrl of the public listener, as this machine reaches it.
 */
export function createProbePost(
  config: Config,
  {
    ownUrl,
    expectProbe,
    now,
  }: Pick<Authentication, 'expectProbe'> & Clock & { readonly ownUrl: () => string },
): ProbeOptions['post'] {
  return async (channel, to, id) => {
    const kind = callbackKinds.find(each => each.channel === channel && each.purpose === 'code')
    const entry = callbackUrls(config, ownUrl()).find(each => each.channel === channel)
    if (kind === undefined || entry === undefined) throw new Error(`no code goes by ${channel}, which is off`)
    const client = createCallbackClient({ userAgent: CHECK_AGENT, host: hostNameOf(config.PUBLIC_URL ?? '') })
    const body = testBody(kind, to, now(), languageOfBrowser(config.LOCALE))
    expectProbe(id)
    const credentials = { corpId: config.CORP_ID, token: entry.token }
    const answer = await client.post(entry.url, body, credentials, { [PROBE_HEADER]: id })
    await client.close()
    return answer.is === 'answered' ? quote(answer.errMsg, String(answer.errCode)) : answer.why
  }
}

/**
 * Whom a code goes to by each channel, and why none does by another: it is off, or nobody would see the code arrive.
 * @param reporting the providers that report what became of messages.
 */
export function listProbes(config: Config, reporting: ReadonlySet<string>) {
  const targets = new Map(config.PROBE_TO)
  const gaps: Sentence[] = []
  const leaveOut = (channel: Channel, why: Sentence): void => {
    if (targets.delete(channel)) gaps.push(why)
  }
  if (config.EMAIL_TOKEN === undefined)
    leaveOut('email', say('no mail is sent to PROBE_TO: e-mail is off (EMAIL_TOKEN)'))
  if (config.SMS_TOKEN === undefined)
    leaveOut('sms', say('no SMS is sent to PROBE_TO: SMS are off (SMS_TOKEN)'))
  if (config.BOUNCE_IMAP_URL === undefined)
    leaveOut(
      'email',
      say('no mail is sent to PROBE_TO: BOUNCE_IMAP_URL names no mailbox in which it would be seen'),
    )
  const number = targets.get('sms')
  // Without routes there is one carrier.
  const [first = ''] =
    number && config.SMS_ROUTES ? (routeOf(config.SMS_ROUTES, countryOf(number)) ?? []) : reporting
  if (!reporting.has(first))
    leaveOut('sms', say('no SMS is sent to PROBE_TO: its carrier does not report what arrives'))
  return { targets, gaps }
}
