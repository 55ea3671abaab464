import net from 'node:net'
import tls from 'node:tls'
import type { Test } from 'tap'

/** Where a session is when the server is about to reply. `dot`: the whole message was read. */
export type SmtpStep =
  | 'greeting'
  | 'EHLO'
  | 'STARTTLS'
  | 'AUTH'
  | 'MAIL'
  | 'RCPT'
  | 'DATA'
  | 'dot'
  | 'RSET'
  | 'NOOP'
  | 'QUIT'

/** What the server does instead of its usual reply. */
export type SmtpAct =
  /** Says this instead; `close`: and ends the connection. At the dot the message counts only when this is a 2xx. */
  | { readonly is: 'say'; readonly reply: string; readonly close?: boolean }
  /** Says nothing, ever. `accept` (at the dot): the message counts all the same. */
  | { readonly is: 'stall'; readonly accept?: boolean }
  /** Ends the connection without a word (`reset`: by RST). `accept` (at the dot): the message counts all the same. */
  | { readonly is: 'drop'; readonly reset?: boolean; readonly accept?: boolean }
  /** The usual reply, later. */
  | { readonly is: 'wait'; readonly ms: number }
  /** Answers as usual when a test lets it. */
  | { readonly is: 'hold'; readonly until: Promise<unknown> }
  /** The usual reply, a byte each `ms`. */
  | { readonly is: 'trickle'; readonly ms: number }

export interface SmtpMoment {
  readonly step: SmtpStep
  /** Counts from 1. */
  readonly connection: number
  /** The command; empty at greeting and dot. */
  readonly line: string
  /** Messages that this connection delivered before. */
  readonly delivered: number
  readonly tls: boolean
}

export interface ReceivedMail {
  readonly connection: number
  readonly from: string
  readonly to: readonly string[]
  /** As it came over the wire between 354 and the end of the dot's line, dot-stuffed, its final `.` included. */
  readonly wire: Buffer
  /** The message: dots unstuffed, its final line end included. */
  readonly data: Buffer
  readonly tls: boolean
  /** When its last byte was read, ms since the epoch. */
  readonly at: number
}

export interface SmtpServerOptions {
  /** 127.0.0.1 unless it is an own one (see `ownHost`), which a server has that goes down in a test. */
  readonly host?: string
  readonly pipelining?: boolean
  /** Offers SMTPUTF8. */
  readonly smtpUtf8?: boolean
  /** Offers DSN. */
  readonly dsn?: boolean
  /** Key and certificate: offers STARTTLS, or speaks TLS at once with `secure`. */
  readonly certificate?: { readonly key: string; readonly cert: string }
  readonly secure?: boolean
  /** Offers AUTH PLAIN and LOGIN, and insists on it. */
  readonly login?: { readonly user: string; readonly pass: string }
  /** Offers AUTH XOAUTH2 beside LOGIN, and insists on it. */
  readonly xoauth2?: {
    /** Whether it takes the token for the user. */
    readonly takes: (user: string, token: string) => boolean
    /** Says why it does not before it refuses, as Google does; else it refuses at once, as Microsoft does. */
    readonly challenges?: boolean
  }
  /** Above it, a connection is greeted with 421. */
  readonly maxConnections?: number
}

/** A recording SMTP server that can misbehave at each step. */
export type SmtpServer = ReturnType<typeof createSmtpServer>
export function createSmtpServer(options: SmtpServerOptions = {}) {
  const {
    host = '127.0.0.1',
    pipelining = true,
    smtpUtf8 = false,
    dsn = false,
    certificate,
    secure = false,
    login,
    xoauth2,
    maxConnections = Infinity,
  } = options
  const context = certificate && tls.createSecureContext(certificate)
  const mails: ReceivedMail[] = []
  const connections: Session['record'][] = []
  const sockets = new Set<net.Socket>()
  type Act = ((moment: SmtpMoment) => SmtpAct | undefined) | undefined

  const server = net.createServer(plain => {
    sockets.add(plain)
    plain.setNoDelay(true)
    plain.on('error', () => {})
    plain.once('close', () => sockets.delete(plain))
    const socket =
      secure && context ? new tls.TLSSocket(plain, { isServer: true, secureContext: context }) : plain
    socket.on('error', () => {})
    const session = openSession(connections.length + 1, socket, secure)
    connections.push(session.record)
    // A session ends when its connection does: reading then rejects.
    serve(session).catch((error: unknown) => {
      if (error !== GONE) throw error
    })
  })

  async function serve(session: Session): Promise<void> {
    let input = createInput(session.socket, session.record.bytes)
    if (sockets.size > maxConnections) return void session.socket.end('421 4.7.0 too many connections\r\n')
    await reply(session, 'greeting', '', '220 rig ESMTP')
    for (;;) {
      const line = await input.line()
      session.record.commands.push(line)
      const verb = line.split(/[ :]/, 1)[0]?.toUpperCase() ?? ''
      if (verb === 'STARTTLS' && context && !session.secured) {
        if (!(await reply(session, 'STARTTLS', line, '220 go ahead'))) continue
        session.socket = new tls.TLSSocket(input.release(), { isServer: true, secureContext: context })
        session.socket.on('error', () => {})
        session.secured = true
        input = createInput(session.socket, session.record.bytes)
      } else if (verb === 'AUTH') await authenticate(session, line, input)
      else if (verb === 'DATA') await receive(session, line, input)
      else await command(session, verb, line)
    }
  }

  function ask(session: Session, step: SmtpStep, line: string): SmtpAct | undefined {
    const { id: connection, delivered, secured } = session
    return rig.act?.({ step, connection, line, delivered, tls: secured })
  }

  async function reply(session: Session, step: SmtpStep, line: string, usual: string): Promise<boolean> {
    return perform(session, ask(session, step, line), usual)
  }

  async function command(session: Session, verb: string, line: string): Promise<void> {
    if (verb === 'EHLO') {
      await reply(session, 'EHLO', line, greetings(session))
    } else if (verb === 'MAIL') {
      if ((login ?? xoauth2) && !session.user) return void say(session, '530 5.7.0 Authentication required')
      if (!(await reply(session, 'MAIL', line, '250 2.1.0 ok'))) return
      session.from = /<(.*?)>/.exec(line)?.[1] ?? ''
      session.to = []
    } else if (verb === 'RCPT') {
      if (session.from === undefined) return void say(session, '503 5.5.1 MAIL first')
      if (await reply(session, 'RCPT', line, '250 2.1.5 ok')) session.to.push(/<(.*?)>/.exec(line)?.[1] ?? '')
    } else if (verb === 'RSET') {
      session.from = undefined
      await reply(session, 'RSET', line, '250 2.0.0 ok')
    } else if (verb === 'NOOP') await reply(session, 'NOOP', line, '250 2.0.0 ok')
    else if (verb === 'QUIT') {
      if (await reply(session, 'QUIT', line, '221 2.0.0 bye')) session.socket.end()
    } else say(session, '500 5.5.2 what?')
  }

  async function receive(session: Session, line: string, input: Input): Promise<void> {
    if (session.from === undefined || !session.to.length)
      return void say(session, '503 5.5.1 no valid recipients')
    if (!(await reply(session, 'DATA', line, '354 go ahead'))) return
    const wire = await input.message()
    const { id: connection, from, to, secured } = session
    session.from = undefined
    const act = ask(session, 'dot', '')
    if (accepts(act)) {
      mails.push({ connection, from, to, wire, data: unstuffed(wire), tls: secured, at: Date.now() })
      session.delivered++
    }
    await perform(session, act, `250 2.0.0 Ok: queued as R${String(mails.length).padStart(5, '0')}`)
  }

  async function authenticate(session: Session, line: string, input: Input): Promise<void> {
    const [, method = '', initial = ''] = line.split(' ')
    if (method === 'XOAUTH2') return authenticateByToken(session, line, initial, input)
    let user = ''
    let pass = ''
    if (method.toUpperCase() === 'LOGIN') {
      say(session, '334 VXNlcm5hbWU6')
      user = Buffer.from(await input.line(), 'base64').toString()
      say(session, '334 UGFzc3dvcmQ6')
      pass = Buffer.from(await input.line(), 'base64').toString()
    } else [, user = '', pass = ''] = Buffer.from(initial, 'base64').toString().split('\0')
    const right = login !== undefined && user === login.user && pass === login.pass
    if (!right)
      return void (await reply(session, 'AUTH', line, '535 5.7.8 Authentication credentials invalid'))
    if (await reply(session, 'AUTH', line, '235 2.7.0 Authentication successful')) session.user = user
  }

  async function authenticateByToken(
    session: Session,
    line: string,
    initial: string,
    input: Input,
  ): Promise<void> {
    const { user, token } = tokenLoginOf(initial)
    if (xoauth2?.takes(user, token) === true) {
      if (await reply(session, 'AUTH', line, '235 2.7.0 Accepted')) session.user = user
      return
    }
    if (xoauth2?.challenges === true) {
      say(session, `334 ${Buffer.from('{"status":"400","schemes":"Bearer"}').toString('base64')}`)
      await input.line()
    }
    await reply(session, 'AUTH', line, '535 5.7.3 Authentication unsuccessful [AM0PR06CA0126.example]')
  }

  function greetings(session: Session): string {
    const extensions = ['rig', '8BITMIME', 'ENHANCEDSTATUSCODES', 'SIZE 10485760']
    if (pipelining) extensions.push('PIPELINING')
    if (smtpUtf8) extensions.push('SMTPUTF8')
    if (dsn) extensions.push('DSN')
    if (context && !session.secured) extensions.push('STARTTLS')
    if (login) extensions.push('AUTH PLAIN LOGIN')
    if (xoauth2) extensions.push('AUTH LOGIN XOAUTH2')
    return extensions.map((word, i) => `250${i === extensions.length - 1 ? ' ' : '-'}${word}`).join('\r\n')
  }

  const rig = {
    mails: mails as readonly ReceivedMail[],
    connections: connections as readonly Session['record'][],
    openConnections: () => sockets.size,
    /** What to do from now on; undefined: behave. */
    act: undefined as Act,
    /** Listens at any free port unless one is given. */
    listen: (port = 0) =>
      new Promise<{ port: number }>(resolve => {
        server.listen(port, host, () => resolve({ port: (server.address() as net.AddressInfo).port }))
      }),
    /** Stops listening and drops every connection, so that connecting is refused. */
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
  return rig
}

/** The same at a free port, until the end of the test. */
export async function startSmtpServer(t: Test, options: SmtpServerOptions = {}) {
  const server = createSmtpServer(options)
  const { port } = await server.listen()
  t.teardown(() => server.close())
  return { server, port }
}

/** Says the usual reply or does what `act` wants. @returns whether the usual one was said. */
async function perform(session: Session, act: SmtpAct | undefined, usual: string): Promise<boolean> {
  if (!act) return say(session, usual)
  if (act.is === 'say') {
    say(session, act.reply)
    if (act.close) session.socket.end()
    return false
  }
  if (act.is === 'hold') {
    await act.until
    return say(session, usual)
  }
  if (act.is === 'wait') {
    await pause(act.ms)
    return say(session, usual)
  }
  if (act.is === 'trickle') return trickle(session, usual, act.ms)
  if (act.is === 'drop') session.record.end(act.reset ? 'reset' : 'end')
  return new Promise(() => {})
}

/** Whether a message counts as accepted when this happens after its dot. */
function accepts(act: SmtpAct | undefined): boolean {
  if (!act || act.is === 'wait' || act.is === 'hold' || act.is === 'trickle') return true
  return act.is === 'say' ? act.reply.startsWith('2') : act.accept === true
}

type Session = ReturnType<typeof openSession>

function openSession(id: number, socket: net.Socket, secured: boolean) {
  const session = {
    id,
    socket,
    secured,
    user: undefined as string | undefined,
    delivered: 0,
    from: undefined as string | undefined,
    to: [] as string[],
    record: {
      id,
      /** Every byte that the client sent, decrypted. */
      bytes: [] as Buffer[],
      commands: [] as string[],
      user: (): string | undefined => session.user,
      open: (): boolean => !session.socket.destroyed,
      /** Says something unasked, such as `421 bye`. */
      say: (line: string): void => void session.socket.write(`${line}\r\n`),
      /** Ends it from the server's side. */
      end: (how: 'end' | 'reset' = 'end'): void => {
        if (how === 'reset') socket.resetAndDestroy()
        else session.socket.end()
      },
    },
  }
  return session
}

function say(session: Session, line: string): true {
  if (!session.socket.destroyed) session.socket.write(`${line}\r\n`)
  return true
}

async function trickle(session: Session, line: string, ms: number): Promise<true> {
  for (const byte of `${line}\r\n`) {
    if (session.socket.destroyed) throw GONE
    session.socket.write(byte)
    await pause(ms)
  }
  return true
}

/** Reads `user=…^Aauth=Bearer …^A^A`, in base64; empty texts when it is something else. */
export function tokenLoginOf(initial: string): { readonly user: string; readonly token: string } {
  const fields = Buffer.from(initial, 'base64').toString().split('\x01')
  const [user = '', token = '', ...rest] = fields
  const isWhole = user.startsWith('user=') && token.startsWith('auth=Bearer ') && rest.join() === ','
  return isWhole ? { user: user.slice(5), token: token.slice(12) } : { user: '', token: '' }
}

function unstuffed(wire: Buffer): Buffer {
  return Buffer.from(
    wire
      .subarray(0, -3)
      .toString('latin1')
      .replace(/^\./, '')
      .replace(/\r\n\./g, '\r\n'),
    'latin1',
  )
}

async function pause(ms: number): Promise<void> {
  await new Promise(resolve => setTimeout(resolve, ms))
}

/** Reading ends by rejecting with this when the connection does. */
const GONE = new Error('the connection is gone')

type Input = ReturnType<typeof createInput>

function createInput(socket: net.Socket, record: Buffer[]) {
  let held = Buffer.alloc(0)
  let ended = false
  let wake: (() => void) | undefined
  const onData = (chunk: Buffer): void => {
    record.push(chunk)
    held = Buffer.concat([held, chunk])
    wake?.()
  }
  const onEnd = (): void => {
    ended = true
    wake?.()
  }
  socket.on('data', onData)
  socket.once('end', onEnd)
  socket.once('close', onEnd)

  async function take(lengthOf: (held: Buffer) => number): Promise<Buffer> {
    for (;;) {
      const length = lengthOf(held)
      if (length > 0) {
        const taken = held.subarray(0, length)
        held = held.subarray(length)
        return taken
      }
      if (ended) throw GONE
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  }
  return {
    /** The next line without its CRLF. A bare LF does not end a line. */
    line: async () =>
      (await take(bytes => bytes.indexOf('\r\n') + 2 * Number(bytes.includes('\r\n'))))
        .toString('latin1')
        .slice(0, -2),
    /** Everything up to and with the line that is a single dot. */
    message: () =>
      take(bytes => {
        if (bytes.subarray(0, 3).toString('latin1') === '.\r\n') return 3
        const dot = bytes.indexOf('\r\n.\r\n')
        return dot < 0 ? 0 : dot + 5
      }),
    /** Hands the socket over to TLS. */
    release() {
      socket.off('data', onData)
      socket.off('end', onEnd)
      return socket
    },
  }
}
