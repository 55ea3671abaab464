import { ImapFlow, type ImapFlowError } from 'imapflow'
import type { Emit } from '../events/events.ts'
import { quote, ToldError, type Words } from '../language/sentence.ts'
import { ID_HEADER } from '../messages/message.ts'
import { type MemoStore, StoreUnavailable } from '../outbox/outbox.ts'
import { type Diagnosis, diagnoseConnection } from '../providers/diagnosis.ts'
import { createRedactor, NO_MESSAGE } from '../providers/redact.ts'
import { type Clock, monotonic } from '../runtime/clock.ts'
import { leaveAlone, newHealthRecord, recover } from '../runtime/health-record.ts'
import { createLeadership } from '../runtime/leadership.ts'
import { lookUpName } from '../runtime/name-lookup.ts'
import { repeat } from '../runtime/retry.ts'
import type { ImapAddress } from '../settings/urls.ts'
import { REPORT_OCTETS } from './report.ts'

/** Why there is no access token, and whose fault that is. */
interface NoToken {
  readonly whose: 'ours' | 'later'
  readonly reply: Words
}

export interface MailboxLogin {
  readonly address: ImapAddress
  /** Access tokens in the place of a password; closed with the mailbox. */
  readonly tokens?:
    | {
        getToken(): Promise<{ readonly token: string } | NoToken>
        close(): Promise<unknown>
      }
    | undefined
}

export interface BounceMailboxOptions extends MailboxLogin {
  /** Reads a mail. @returns whether it reports on a mail of ours. @throws StoreUnavailable: it is read again later */
  readonly take: (message: Uint8Array) => Promise<boolean>
  /** They keep, under this name, up to which mail the mailbox was read. */
  readonly memos: MemoStore
  readonly memoName: string
  /** Waits, ms; an abort ends the wait. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>
  /** Takes or keeps the leader lease among replicas; undefined when this process is the only one. */
  readonly takeLease: ((ttlMs: number) => Promise<boolean>) | undefined
  readonly clock: Clock
  readonly random: () => number
  readonly emit: Emit
}

export interface BounceMailboxStatus {
  /** It is false when another replica reads. */
  readonly leads: boolean
  /** Since when it cannot be read, ms since the epoch, and why; null: it can. */
  readonly failing: { readonly since: number; readonly reason: Words } | null
}

/** The head of what may report on a mail of ours, or be one. */
const OF_OURS = new RegExp(`multipart/report|^${ID_HEADER}:`, 'im')
/** The folder that reports on mails of ours are moved to, once they are taken. */
const DONE = 'callback-courier'
/** Mails that came earlier are not looked at: reports come within days. */
const RECENT_MS = 7 * 86_400_000
/** How often the mailbox is looked at when the server announces nothing. */
const LOOK_EVERY_MS = 60_000
/** Mails whose heads are asked for at once, and so much of each at most: a Content-Type stands within it. */
const HEADS_AT_ONCE = 50
const HEAD_OCTETS = 64 * 1024
/** Callbacks go before reports, however many there are: the pauses after a report or some heads, and after a look, ms. */
const PAUSE_MS = { afterMails: 50, afterLook: 500 }
/** The most that a server may say in the pause after a look, octets: nobody has asked it anything. */
const MOST_UNASKED_OCTETS = 64 * 1024
/** How long the server may take for an answer, whatever else it says meanwhile, ms. */
const ANSWER_MS = 60_000
const LEASE = { ttlMs: 30_000, renewEveryMs: 10_000 }
/** The pause after a connection that the server has ended, ms. */
const RECONNECT_MS = 2000
const LIMITS = { connectionTimeout: 15_000, greetingTimeout: 10_000, socketTimeout: 120_000 }
/** What a server may say at once, octets: a mailbox of a hundred thousand mails fits. */
const MOST_OCTETS = 4 * 1024 * 1024

/** Reads the reports that come to a mailbox, one replica at a time, for as long as it is started. */
export function createBounceMailbox(options: BounceMailboxOptions) {
  const { address, tokens, take, memos, memoName, clock, emit, random } = options
  /** It fails with the first look that is not completed: nothing else waits that could show that the server answers. */
  const health = newHealthRecord<{ readonly reason: Words }>()
  let reading: { readonly stopping: AbortController; readonly ended: Promise<void> } | undefined
  /** The last mail that was looked at, of the mailbox that has this validity; null: the store knows. */
  let looked: { readonly validity: string; readonly uid: number } | null = null
  /** What the store was told of it last. */
  let kept = ''
  /** The mails that are being read. */
  let underWay: readonly number[] = []
  /** Counts what the server has given to read. */
  let reads = 0
  /** Mails among these that are asked for one by one, as one of them failed; and the count when each failed alone, or -1. */
  const failed = new Map<number, number>()

  /** Reads the mailbox until the connection ends, or the signal aborts. */
  async function read(signal: AbortSignal): Promise<void> {
    const client = await createClient(options)
    // The token may have come after the end.
    if (signal.aborted) return
    // The end of the connection ends the step that waits for it, and says the same.
    client.on('error', () => {})
    const close = () => client.close()
    signal.addEventListener('abort', close, { once: true })
    const answer = setTimeout(close, ANSWER_MS)
    const pause = async (ms: number) => {
      await options.pause(ms, signal)
      answer.refresh()
    }
    let mayHaveMore = false
    client.on('exists', () => {
      mayHaveMore = true
    })
    try {
      await client.connect()
      await client.mailboxOpen(address.mailbox)
      for (let looks = 0; client.usable; looks += 1) {
        mayHaveMore = false
        await readNew(client, pause)
        recover(health)
        if (looks === 0) emit({ type: 'bounce-mailbox', is: 'open' })
        for (let ms = 0; ms < LOOK_EVERY_MS && client.usable; ms += PAUSE_MS.afterLook) {
          client.stats(true)
          await pause(PAUSE_MS.afterLook)
          if (client.stats().received > MOST_UNASKED_OCTETS)
            throw new ToldError('the server talks without end')
          if (mayHaveMore) break
        }
      }
    } finally {
      clearTimeout(answer)
      signal.removeEventListener('abort', close)
      client.close()
    }
  }

  /** Reads the reports among the mails that have come since the last look. All others stay as they are. */
  async function readNew(client: ImapFlow, pause: (ms: number) => Promise<void>): Promise<void> {
    const { uidValidity, exists } = client.mailbox || { uidValidity: 0n, exists: 0 }
    const validity = String(uidValidity)
    looked ??= JSON.parse((await memos.readMemos([memoName])).get(memoName) ?? 'null')
    if (looked?.validity !== validity) {
      looked = { validity, uid: 0 }
      failed.clear()
    }
    const last = looked.uid
    const firstUnread = () => Math.min(...failed.keys(), (looked?.uid ?? 0) + 1)
    async function keep(): Promise<void> {
      const value = JSON.stringify({ validity, uid: firstUnread() - 1 })
      if (value !== kept)
        await memos.writeMemo({ name: memoName, value, expiresAt: clock.now() + 2 * RECENT_MS })
      kept = value
    }
    const query = { since: new Date(clock.now() - RECENT_MS), uid: `${firstUnread()}:*` }
    const found = exists > 0 ? await client.search(query, { uid: true }) : []
    if (!found) throw Object.assign(new Error('SEARCH'), { responseStatus: 'NO' })
    const isThere = new Set(found)
    for (const uid of failed.keys()) if (!isThere.has(uid)) failed.delete(uid)
    const uids = found.filter(uid => uid > last)
    await keep()
    for (let at = 0; at < uids.length || failed.size > 0; ) {
      // A mail that failed alone waits until another one is read: by that one it is seen whether the server is what fails.
      const again = [...failed].find(([, count]) => count < reads || at >= uids.length)?.[0]
      underWay = again === undefined ? uids.slice(at, at + HEADS_AT_ONCE) : [again]
      if (again === undefined) at += underWay.length
      // Never a whole head, nor a field of it: whoever writes a mail says how long they are.
      const bodyParts = [{ key: 'HEADER', maxLength: HEAD_OCTETS }]
      const heads = await client.fetchAll([...underWay], { uid: true, bodyParts }, { uid: true })
      for (const { uid } of heads.filter(({ headers }) => OF_OURS.test(String(headers)))) {
        const source = { start: 0, maxLength: REPORT_OCTETS }
        const mail = await client.fetchOne(uid, { source }, { uid: true })
        reads += 1
        if (mail !== false && mail?.source !== undefined && (await take(mail.source)))
          await moveAway(client, uid)
        await pause(PAUSE_MS.afterMails)
      }
      reads += 1
      for (const uid of underWay) failed.delete(uid)
      looked = { validity, uid: Math.max(looked.uid, ...underWay) }
      underWay = []
      await keep()
      await pause(PAUSE_MS.afterMails)
    }
  }

  /** Without MOVE a mail could go elsewhere only by being deleted, and other people's mails with it: then it stays. */
  async function moveAway(client: ImapFlow, uid: number): Promise<void> {
    if (!client.capabilities.has('MOVE')) return
    // Servers without RFC 5530 refuse a folder that is there without saying why. Where there is none, the mail stays.
    await client.mailboxCreate(DONE).catch(() => undefined)
    await client.messageMove(uid, DONE, { uid: true })
  }

  async function step(signal: AbortSignal): Promise<number> {
    underWay = []
    try {
      await read(signal)
      await options.pause(RECONNECT_MS, signal)
    } catch (error) {
      if (signal.aborted) return 0
      // What the store cannot take now is read again.
      if (!(error instanceof StoreUnavailable)) {
        // One that fails alone, and again although others were read since, is stepped over: the server is not what fails.
        const isAlone = underWay.length === 1
        for (const uid of underWay) {
          const count = failed.get(uid) ?? -1
          failed.delete(uid)
          if (!isAlone || count < 0 || count === reads) failed.set(uid, isAlone ? reads : -1)
        }
        if (looked !== null) looked = { ...looked, uid: Math.max(looked.uid, ...underWay) }
      }
      const reason = diagnose(error, address).what
      emit({ type: 'bounce-mailbox', is: 'failed', reason })
      const { authenticationFailed, mailboxMissing, responseStatus, whose } = error as Partial<
        ImapFlowError & NoToken
      >
      const isRefused =
        authenticationFailed === true || mailboxMissing === true || responseStatus !== undefined
      const isForOperator = isRefused || whose === 'ours'
      const restMs = leaveAlone(health, { reason }, isForOperator, clock.now(), { random })
      await options.pause(restMs, signal)
    }
    return 0
  }

  const leadership = createLeadership({
    ...LEASE,
    takeLease: options.takeLease,
    now: monotonic,
    onError: () => {},
    onChange(isLeader) {
      // Another replica may read meanwhile: what failed before is not for how long it has failed.
      recover(health)
      if (isLeader) {
        looked = null
        failed.clear()
        const stopping = new AbortController()
        reading = { stopping, ended: repeat(() => step(stopping.signal), stopping.signal) }
      } else reading?.stopping.abort()
    },
  })
  return {
    start: leadership.start,
    async stop(): Promise<void> {
      await leadership.stop()
      // A token that is asked for would be waited for.
      await tokens?.close()
      await reading?.ended
    },
    status: (): BounceMailboxStatus => ({ leads: leadership.isLeader(), failing: health.fault }),
  }
}

/** Logs in and opens the mailbox, and reads nothing. @returns what is wrong; null: it can be read */
export async function tryMailbox(login: MailboxLogin): Promise<Diagnosis | null> {
  let client: ImapFlow | undefined
  try {
    client = await createClient(login)
    client.on('error', () => {})
    await client.connect()
    await client.mailboxOpen(login.address.mailbox, { readOnly: true })
    return null
  } catch (error) {
    return diagnose(error, login.address)
  } finally {
    client?.close()
    await login.tokens?.close()
  }
}

/** Makes the connection to a mail server, not made yet. @throws ToldError: there is no access token */
export async function createClient({ address, tokens }: MailboxLogin): Promise<ImapFlow> {
  const { host, port, secure, startTls, user, pass } = address
  const got = await tokens?.getToken()
  if (got !== undefined && 'reply' in got) throw Object.assign(new ToldError(got.reply), { whose: got.whose })
  return new ImapFlow({
    ...LIMITS,
    host,
    port,
    secure,
    ...(!secure && { doSTARTTLS: startTls }),
    auth: got === undefined ? { user, pass } : { user, accessToken: got.token },
    logger: false,
    tls: { lookup: lookUpName },
    maxIdleTime: LOOK_EVERY_MS,
    maxLineLength: MOST_OCTETS,
    maxLiteralSize: MOST_OCTETS,
    maxResponseSize: 2 * MOST_OCTETS,
  })
}

/** Why the mailbox cannot be read, without what the server says: it may repeat what we are known by. */
function diagnose(error: unknown, { host, port, pass }: ImapAddress): Diagnosis {
  const { authenticationFailed, mailboxMissing, responseStatus, tlsFailed, code, message } =
    error as Partial<ImapFlowError>
  const next =
    pass === ''
      ? 'look at user and folder in BOUNCE_IMAP_URL, and at SMTP_OAUTH2_SCOPE'
      : 'look at user, password and folder in BOUNCE_IMAP_URL'
  if (authenticationFailed === true) return { what: 'the login is refused', next }
  if (mailboxMissing === true) return { what: 'there is no such mailbox', next }
  if (responseStatus !== undefined && code === undefined)
    return { what: 'the server refuses to open or to read the folder', next }
  if (error instanceof StoreUnavailable) return { what: 'the store cannot take reports now', next }
  const known = diagnoseConnection({ cause: code ?? '', host, port, setting: 'BOUNCE_IMAP_URL' })
  if (known !== null) return known
  if (code === 'NoConnection' || code === 'EConnectionClosed')
    return { what: 'the connection ended before the answer did', next }
  if (tlsFailed === true)
    return { what: 'the server offers no TLS', next: 'look at host and port in BOUNCE_IMAP_URL' }
  if (error instanceof ToldError) return { what: error.words, next }
  return { what: quote(createRedactor(NO_MESSAGE, [pass]).reply(code ?? message ?? 'unknown fault')), next }
}
