import { once } from 'node:events'
import { ImapFlow, type ImapFlowError } from 'imapflow'
import type { Emit } from '../events/events.ts'
import { type Diagnosis, diagnoseConnection } from '../providers/diagnosis.ts'
import { type Clock, monotonic } from '../runtime/clock.ts'
import { createLeadership } from '../runtime/leadership.ts'
import { lookUpName } from '../runtime/name-lookup.ts'
import { repeat } from '../runtime/retry.ts'
import type { ImapAddress } from '../settings/urls.ts'
import { REPORT_OCTETS } from './report.ts'

export interface BounceMailboxOptions {
  readonly address: ImapAddress
  /** Access tokens in the place of a password; closed with the mailbox. */
  readonly tokens?:
    | {
        getToken(): Promise<{ readonly token: string } | { readonly reply: string }>
        close(): Promise<unknown>
      }
    | undefined
  /** Reads a mail. @returns whether it reports on a mail of ours. @throws StoreUnavailable: it is read again later */
  readonly take: (message: Uint8Array) => Promise<boolean>
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
  readonly failing: { readonly since: number; readonly reason: string } | null
}

/** The folder that reports on mails of ours are moved to, once they are taken. */
const DONE = 'callback-courier'
/** Mails that came earlier are not looked at: reports come within days. */
const RECENT_MS = 7 * 86_400_000
/** How often the mailbox is looked at when the server announces nothing. */
const LOOK_EVERY_MS = 60_000
/** Mails whose heads are asked for at once. */
const HEADS_AT_ONCE = 200
const LEASE = { ttlMs: 30_000, renewEveryMs: 10_000 }
const RETRY_MS = { first: 5_000, most: 300_000 }
const LIMITS = { connectionTimeout: 15_000, greetingTimeout: 10_000, socketTimeout: 120_000 }
/** What a server may say at once, octets: a mailbox of a hundred thousand mails fits. */
const MOST_OCTETS = 4 * 1024 * 1024

/** Reads the reports that come to a mailbox, one replica at a time, for as long as it is started. */
export function createBounceMailbox(options: BounceMailboxOptions) {
  const { address, tokens, take, clock, emit, random } = options
  let failing: BounceMailboxStatus['failing'] = null
  let reading: { readonly stopping: AbortController; readonly ended: Promise<void> } | undefined
  /** The last mail that was looked at, of the mailbox that has this validity. */
  let looked = { validity: 0n, uid: 0 }
  let failures = 0

  /** Reads the mailbox until the connection ends, or the signal aborts. */
  async function read(signal: AbortSignal): Promise<void> {
    const client = await createClient(options)
    // The token may have come after the end.
    if (signal.aborted) return
    // The end of the connection ends the step that waits for it, and says the same.
    client.on('error', () => {})
    const close = () => client.close()
    signal.addEventListener('abort', close, { once: true })
    try {
      await client.connect()
      await client.mailboxOpen(address.mailbox)
      failures = 0
      failing = null
      emit({ type: 'bounce-mailbox', is: 'open' })
      let mayHaveMore = false
      client.on('exists', () => {
        mayHaveMore = true
      })
      while (!signal.aborted && client.usable) {
        mayHaveMore = false
        await readNew(client)
        if (!mayHaveMore) await nextMail(client, signal)
      }
    } finally {
      signal.removeEventListener('abort', close)
      client.close()
    }
  }

  /** Reads the reports among the mails that have come since the last look. All others stay as they are. */
  async function readNew(client: ImapFlow): Promise<void> {
    const { uidValidity: validity } = client.mailbox || { uidValidity: 0n }
    if (validity !== looked.validity) looked = { validity, uid: 0 }
    const query = { since: new Date(clock.now() - RECENT_MS), uid: `${looked.uid + 1}:*` }
    const found = (await client.search(query, { uid: true })) || []
    const uids = found.filter(uid => uid > looked.uid).sort((a, b) => a - b)
    for (let at = 0; at < uids.length; at += HEADS_AT_ONCE) {
      const some = uids.slice(at, at + HEADS_AT_ONCE)
      const heads = await client.fetchAll(some, { uid: true, headers: ['content-type'] }, { uid: true })
      const reports = heads.filter(({ headers }) => /multipart\/report/i.test(String(headers)))
      for (const { uid } of reports) {
        const source = { start: 0, maxLength: REPORT_OCTETS }
        const mail = await client.fetchOne(uid, { source }, { uid: true })
        if (mail !== false && mail?.source !== undefined && (await take(mail.source)))
          await moveAway(client, uid)
      }
      looked = { validity, uid: some.at(-1) ?? looked.uid }
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
    try {
      await read(signal)
    } catch (error) {
      if (signal.aborted) return 0
      const reason = diagnose(error, address).what
      failing = { since: failing?.since ?? clock.now(), reason }
      emit({ type: 'bounce-mailbox', is: 'failed', reason })
    }
    failures += 1
    return Math.min(RETRY_MS.most, RETRY_MS.first * 2 ** (failures - 1)) * (0.75 + random() / 2)
  }

  const leadership = createLeadership({
    ...LEASE,
    takeLease: options.takeLease,
    now: monotonic,
    onError: () => {},
    onChange(isLeader) {
      if (isLeader) {
        // Another replica may have read meanwhile: what failed before is not for how long it has failed.
        failing = null
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
    status: (): BounceMailboxStatus => ({ leads: leadership.isLeader(), failing }),
  }
}

type Login = Pick<BounceMailboxOptions, 'address' | 'tokens'>

/** Logs in and opens the mailbox, and reads nothing. @returns what is wrong; null: it can be read */
export async function tryMailbox(login: Login): Promise<Diagnosis | null> {
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

async function createClient({ address, tokens }: Login): Promise<ImapFlow> {
  const { host, port, secure, startTls, user, pass } = address
  const got = await tokens?.getToken()
  if (got !== undefined && 'reply' in got) throw new Error(got.reply)
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

/** Waits until the server announces a mail, the connection ends, or it is time to look. */
async function nextMail(client: ImapFlow, signal: AbortSignal): Promise<void> {
  const over = new AbortController()
  const waiting = AbortSignal.any([signal, over.signal, AbortSignal.timeout(LOOK_EVERY_MS)])
  await Promise.race(['exists', 'close'].map(event => once(client, event, { signal: waiting }))).catch(
    () => {},
  )
  // What did not happen is waited for no longer: many mails may come within the time.
  over.abort()
}

/** Why the mailbox cannot be read, without what the server says: it may repeat what we are known by. */
function diagnose(error: unknown, { host, port, pass }: ImapAddress): Diagnosis {
  const { authenticationFailed, mailboxMissing, responseStatus, tlsFailed, name, code, message } =
    error as Partial<ImapFlowError>
  const next =
    pass === ''
      ? 'look at user and folder in BOUNCE_IMAP_URL, and at SMTP_OAUTH2_SCOPE'
      : 'look at user, password and folder in BOUNCE_IMAP_URL'
  if (authenticationFailed === true) return { what: 'the login is refused', next }
  if (mailboxMissing === true) return { what: 'there is no such mailbox', next }
  if (responseStatus !== undefined && code === undefined)
    return { what: 'the server refuses to open or to read the folder', next }
  if (name === 'StoreUnavailable') return { what: 'the store cannot take reports now', next }
  const known = diagnoseConnection({ cause: code ?? '', host, port, setting: 'BOUNCE_IMAP_URL' })
  if (known !== null) return known
  if (tlsFailed === true)
    return { what: 'the server offers no TLS', next: 'look at host and port in BOUNCE_IMAP_URL' }
  return { what: (code ?? message ?? 'unknown fault').slice(0, 100), next }
}
