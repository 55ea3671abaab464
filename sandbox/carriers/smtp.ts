import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { callbackify } from 'node:util'
import PostalMime from 'postal-mime'
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server'
import type { Clock } from '../../src/runtime/clock.ts'
import type { SelfSigned } from '../certificate.ts'
import { type NamedFaults, type ReceivedMail, randomSecret, type StandInModule } from './stand-in.ts'

/** Faults that the server plays instead of taking a mail, to try what the service makes of them. */
export type SmtpFault =
  | {
      readonly is: 'refuse'
      /** `rcpt`: refuses the recipient. `data`: takes the whole mail, then refuses it. */
      readonly at: 'rcpt' | 'data'
      /** SMTP reply code, RFC 5321 section 4.2. */
      readonly code: number
      /** Enhanced status code and words, such as `5.1.1 No such user` (RFC 3463). */
      readonly message: string
    }
  /** Takes the mail, and says so only later. */
  | { readonly is: 'delay'; readonly ms: number }

export interface InboxOptions {
  readonly certificate: SelfSigned
  readonly clock: Clock
  /** The account that may log in; mail is taken without a login, too. */
  readonly account: { readonly user: string; readonly password: string }
  /** 0, or absent: a free one. Always on 127.0.0.1. */
  readonly port?: number
  /** How many mails it keeps; older ones are forgotten. Default 200. */
  readonly keep?: number
  readonly onMail?: (mail: ReceivedMail) => void
}

export interface Inbox {
  readonly port: number
  /** Newest first. */
  mails(): readonly ReceivedMail[]
  /** Null: takes mails again. */
  setFault(fault: SmtpFault | null): void
  clear(): void
  close(): Promise<void>
}

/**
 * An SMTP server on loopback that takes every mail and shows it to nobody but its caller. It offers STARTTLS and AUTH
 * (PLAIN, LOGIN), so that a client's way through both is the real one; a wrong password is refused with 535.
 *
 * @throws when the port is taken.
 */
export async function createInbox(options: InboxOptions): Promise<Inbox> {
  const keep = options.keep ?? 200
  let mails: ReceivedMail[] = []
  let fault: SmtpFault | null = null
  let count = 0

  const refusal = (at: 'rcpt' | 'data'): Error | null =>
    fault?.is === 'refuse' && fault.at === at
      ? Object.assign(new Error(fault.message), { responseCode: fault.code })
      : null

  async function take(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<string> {
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk as Buffer)
    const no = refusal('data')
    if (no) throw no
    if (fault?.is === 'delay') await sleep(fault.ms, undefined, { ref: false })
    const id = ++count
    const mail = await read(id, options.clock.now(), Buffer.concat(chunks), session)
    mails = [mail, ...mails].slice(0, keep)
    options.onMail?.(mail)
    return `OK: kept as ${id}`
  }

  const server = createServer(options, () => refusal('rcpt'), take)
  // A client that hangs up or fails its handshake is the client's business, not a crash of the sandbox.
  const listening = Promise.withResolvers<void>()
  server.on('error', listening.reject)
  server.listen(options.port ?? 0, '127.0.0.1', listening.resolve)
  await listening.promise

  return {
    port: (server.server.address() as AddressInfo).port,
    mails: () => mails,
    setFault: next => {
      fault = next
    },
    clear: () => {
      mails = []
    },
    close: () => new Promise(resolve => server.close(resolve)),
  }
}

/** @param refuse asked for each recipient; null: taken. @param take stores a mail, and gives the words of the reply */
function createServer(
  { certificate, account }: InboxOptions,
  refuse: () => Error | null,
  take: (stream: SMTPServerDataStream, session: SMTPServerSession) => Promise<string>,
): SMTPServer {
  const taken = callbackify(take)
  return new SMTPServer({
    ...certificate,
    name: 'sandbox.localhost',
    banner: 'callback-courier sandbox',
    // The greeting must not wait for a resolver: the client is this machine.
    disableReverseLookup: true,
    authOptional: true,
    authMethods: ['PLAIN', 'LOGIN'],
    closeTimeout: 500,
    logger: false,
    onAuth({ username, password }, _session, done) {
      if (username === account.user && password === account.password) return done(null, { user: username })
      done(Object.assign(new Error('5.7.8 Authentication credentials invalid'), { responseCode: 535 }))
    },
    onRcptTo(_address, _session, done) {
      done(refuse())
    },
    onData(stream, session, done) {
      taken(stream, session, done)
    },
  })
}

async function read(id: number, at: number, raw: Buffer, session: SMTPServerSession): Promise<ReceivedMail> {
  const parsed = await PostalMime.parse(raw)
  const { mailFrom, rcptTo } = session.envelope
  return {
    id,
    at,
    envelope: { from: mailFrom ? mailFrom.address : '', to: rcptTo.map(to => to.address) },
    tls: session.secure,
    user: typeof session.user === 'string' ? session.user : null,
    subject: parsed.subject ?? '',
    messageId: parsed.messageId ?? '',
    from: parsed.from ? shown(parsed.from) : '',
    to: (parsed.to ?? []).map(shown).join(', '),
    headers: parsed.headers.map(header => ({ name: header.originalKey, value: header.value })),
    text: parsed.text ?? '',
    html: parsed.html ?? '',
    raw,
  }
}

function shown(who: { name: string; address?: string | undefined }): string {
  if (!who.address) return who.name
  return who.name ? `${who.name} <${who.address}>` : who.address
}

/** How the mail server can be made to behave. */
export const MAIL_FAULTS: NamedFaults<SmtpFault> = {
  none: { title: 'takes every mail', fault: null },
  recipient: {
    title: 'knows no such recipient (550 5.1.1)',
    fault: { is: 'refuse', at: 'rcpt', code: 550, message: '5.1.1 No such user here' },
  },
  content: {
    title: 'refuses the content (554 5.7.1)',
    fault: { is: 'refuse', at: 'data', code: 554, message: '5.7.1 Message refused by content policy' },
  },
  later: {
    title: 'asks to come back later (451 4.3.2)',
    fault: { is: 'refuse', at: 'rcpt', code: 451, message: '4.3.2 Please try again later' },
  },
  slow: { title: 'answers after 4 seconds', fault: { is: 'delay', ms: 4000 } },
}

export const SMTP_USER = 'courier'

/** A mail server that takes every mail and keeps it. */
export const standIn: StandInModule = {
  title: 'Mail server',
  faults: MAIL_FAULTS,
  async start({ certificate, clock, changed }) {
    const account = { user: SMTP_USER, password: randomSecret() }
    const inbox = await createInbox({ certificate, clock, account, onMail: changed })
    return {
      channel: 'email',
      url: `smtp://127.0.0.1:${inbox.port}`,
      settings: { SMTP_URL: `smtp://${account.user}:${account.password}@127.0.0.1:${inbox.port}` },
      mails: inbox.mails,
      setFault: name => inbox.setFault(MAIL_FAULTS[name]?.fault ?? null),
      clear: inbox.clear,
      close: inbox.close,
    }
  },
}
