import { Socket } from 'node:net'
import pg from 'pg'
import { say, type Words, wordsOf } from '../../language/sentence.ts'
import { createBackoff } from '../../runtime/backoff.ts'
import { lookUpName } from '../../runtime/name-lookup.ts'
import { readPostgresUrl } from '../../runtime/postgres-url.ts'
import { ValuesRefused } from '../operations.ts'
import { StoreUnavailable, StoreUnusable } from '../outbox.ts'

// Ours are milliseconds and counts. With the text that the driver gives otherwise, `at + 1` would append a digit.
pg.defaults.parseInt8 = true

export type Client = pg.PoolClient
export type QueryResult = pg.QueryResult<Record<string, unknown>>

export interface ConnectOptions {
  readonly url: string
  /** Longest time that a statement may take, ms. */
  readonly statementTimeoutMs: number
  /** Longest time until a connection is made, ms. */
  readonly connectTimeoutMs: number
  /** How many at a time. */
  readonly max: number
  /** 0 ≤ x < 1 */
  readonly random: () => number
  /** ms, from any origin, never set. */
  readonly monotonic: () => number
  readonly log: (event: { readonly doing: string; readonly message: string }) => void
}

/** A prepared statement is gone, or was there before: the session was lent to somebody else meanwhile. */
const LOST_STATEMENT = /^(26000|42P05)$/
const WAIT_MS = { first: 50, most: 2000 }

/** Connections, each in a session that has our settings. */
export interface Connections {
  /** Lends a connection to some work. */
  use<T>(work: (client: Client) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/**
 * Lends out connections. While the database cannot be reached, calls fail at once, and it is tried again after a
 * growing wait with jitter, so that replicas do not all connect together when it comes back.
 */
export function createConnections(options: ConnectOptions): Connections {
  const { statementTimeoutMs, random, monotonic, log } = options
  const { hosts = [] } = readPostgresUrl(options.url) ?? {}
  /** The host that connections are made to; the next one's turn comes when it cannot be reached, or not be written. */
  let host = 0

  class ClientOfHost extends pg.Client {
    constructor(config: pg.ClientConfig) {
      super({ ...config, connectionString: verifyFully(hosts[host]?.url ?? options.url) })
    }
  }
  const pool = new pg.Pool({
    Client: ClientOfHost as unknown as new () => pg.ClientBase,
    max: options.max,
    // Statements that need no answer of each other travel together.
    pipeline: true,
    keepAlive: true,
    stream: createSocket,
    application_name: 'callback-courier',
    connectionTimeoutMillis: options.connectTimeoutMs,
    // This limit is for a database that does not answer at all: one that answers ends the statement itself, and sooner.
    query_timeout: statementTimeoutMs * 1.5,
    // The pool awaits this before it lends the connection.
    onConnect: client => client.query(sessionSettings(statementTimeoutMs)),
  })
  // A connection that breaks emits an error event too, and one without a listener would end the process. While the
  // connection is lent, its statements fail as well, and so do their callers.
  pool.on('connect', client => client.on('error', () => {}))
  pool.on('error', error => log({ doing: 'an idle connection', message: error.message }))
  const backoff = createBackoff(WAIT_MS, random)
  let notBefore = 0

  async function connect(): Promise<Client> {
    if (monotonic() < notBefore) throw new StoreUnavailable('the database could not be reached just now')
    try {
      const client = await connectToAny()
      backoff.succeeded()
      return client
    } catch (error) {
      notBefore = monotonic() + backoff.failed()
      throw error
    }
  }

  /** Tries the hosts, each once, from the one that was right the last time. */
  async function connectToAny(): Promise<Client> {
    for (let tries = 1; ; tries += 1) {
      const tried = host
      try {
        return await pool.connect()
      } catch (error) {
        // Another call may have gone on to the next host meanwhile.
        if (host === tried && hosts.length > 1) host = (host + 1) % hosts.length
        if (tries >= hosts.length) throw error
      }
    }
  }

  return {
    /** A connection on which anything failed is thrown away, and with it what it had not committed. */
    async use(work) {
      const client = await connect()
      try {
        const value = await work(client)
        client.release()
        return value
      } catch (error) {
        client.release(true)
        throw error
      }
    },
    close: () => pool.end(),
  }
}

/**
 * Makes the settings of a session:
 *
 * - `default_transaction_…`: a transaction sees what was committed before each statement, and may write, whatever the database's
 *   defaults are: one that repeats its reads fails when another replica was first
 * - `synchronous_commit`: a commit is never acknowledged before it is on disk, whatever the database's default is
 * - `idle_in_transaction_session_timeout`: a process that is stopped in the middle releases its locks
 * - `enable_…`, `jit`: every statement has its index, whose rows it asks for one by one, and most a LIMIT; a plan made while
 *   the table was empty must not walk through a million rows later, nor be compiled for looking expensive
 * - `plan_cache_mode`: a statement is planned once for a session: with partitions, planning takes longer than most of them run
 *
 * The last statement fails on a standby, as one that writes would.
 */
export function sessionSettings(statementTimeoutMs: number): string {
  return `
    SET default_transaction_isolation = 'read committed';
    SET default_transaction_read_only = off;
    SET default_transaction_deferrable = off;
    SET synchronous_commit = on;
    SET statement_timeout = ${Math.round(statementTimeoutMs)};
    SET lock_timeout = ${Math.round(statementTimeoutMs * 0.8)};
    SET idle_in_transaction_session_timeout = ${Math.round(statementTimeoutMs * 2)};
    SET enable_seqscan = off;
    SET enable_bitmapscan = off;
    SET enable_mergejoin = off;
    SET enable_hashjoin = off;
    SET jit = off;
    SET plan_cache_mode = force_generic_plan;
    SELECT pg_current_xact_id()`
}

/** Makes a socket for pg, which takes no look-up of its own: it calls `connect` with a port and a host, or with the path of a socket. */
function createSocket(): Socket {
  const socket = new Socket()
  const connect = socket.connect.bind(socket)
  const connectByName = (port: number | string, host: string): Socket =>
    typeof port === 'number' ? connect({ port, host, lookup: lookUpName }) : connect(port)
  return Object.assign(socket, { connect: connectByName })
}

/** A statement that each session prepares once, by its name. */
export interface Statement {
  readonly name: string
  readonly text: string
}

let statements = 0

/** Makes a statement. `$1` is as a rule all rows of a batch, as JSON. */
export function statement(strings: TemplateStringsArray, ...values: readonly (string | number)[]): Statement {
  statements += 1
  return { name: `courier-${statements}`, text: String.raw({ raw: strings }, ...values) }
}

/** Lets what is asked for in one go leave in one write: the driver makes a write of each statement, and each wakes the server. */
function gatherWrites({ connection: { stream } }: Client): void {
  if (stream.writableCorked > 0) return
  stream.cork()
  queueMicrotask(() => stream.uncork())
}

/**
 * Begins a transaction, and says in it what a 0 depends on: a pooler may have lent the session's settings to somebody else by now.
 * @param synced whether its commit waits for the disk.
 */
export function beginTransaction(client: Client, synced = true): Promise<QueryResult> {
  gatherWrites(client)
  return client.query<Record<string, unknown>>(
    `BEGIN; SET LOCAL synchronous_commit = ${synced ? 'on' : 'off'}`,
  )
}

export function runStatement(
  client: Client,
  { name, text }: Statement,
  ...values: readonly unknown[]
): Promise<QueryResult> {
  gatherWrites(client)
  return client.query<Record<string, unknown>>({ name, text, values: [...values] })
}

/** Waits for statements that were sent together; the first fault is the cause of those after it. */
export async function awaitStatements<T extends readonly Promise<unknown>[]>(
  ...asked: T
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const ends = await Promise.allSettled(asked)
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  return ends.map(end => (end as PromiseFulfilledResult<unknown>).value) as {
    -readonly [K in keyof T]: Awaited<T[K]>
  }
}

/** Waits for statements and commits. @throws when the transaction was rolled back instead: COMMIT itself does not say so. */
export async function commitTransaction(
  client: Client,
  ...asked: readonly Promise<QueryResult>[]
): Promise<readonly QueryResult[]> {
  const results = await awaitStatements(...asked, client.query<Record<string, unknown>>('COMMIT'))
  if (results.at(-1)?.command !== 'COMMIT') throw new Error('the transaction was rolled back')
  return results
}

/** A code of the server: it has a digit, which a socket's EPIPE has not. */
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/

/**
 * The meaning of an error of the database, or of the way to it, by SQLSTATE
 * (https://www.postgresql.org/docs/current/errcodes-appendix.html).
 *
 * - `again`       worth one more try at once: the connection broke, or the transaction lost against another
 * - `unavailable` passes when its cause is gone: no room, no permission, a time limit, a standby
 * - `refused`     values of the call itself: bad data, a constraint
 * - null          not the store's fault: a bug
 */
export function classifyPostgresError(error: unknown): 'again' | 'unavailable' | 'refused' | null {
  if (error instanceof StoreUnavailable) return 'unavailable'
  const code = (error as { code?: unknown } | null)?.code
  if (typeof code !== 'string' || !SQLSTATE.test(code)) {
    // The error is not the server's, but a socket's, or pg's own about its connection.
    return error instanceof TypeError || error instanceof RangeError ? null : 'again'
  }
  if (LOST_STATEMENT.test(code) || /^(08|40)/.test(code) || /^57P0[1235]$/.test(code) || code === '25P03')
    return 'again'
  // This code stands both for a right that was taken away and for a read-only file system of the server.
  if (code === '42501') return 'unavailable'
  // Two transactions were the first to write a counter (transaction.ts).
  if (code === '23505' && (error as { table?: unknown }).table === 'courier_quota_counters') return 'again'
  // A key that is there already, or bad SQL, is a bug of ours.
  if (code === '23505' || code.startsWith('42')) return null
  return /^2[23]/.test(code) ? 'refused' : 'unavailable'
}

/** Makes the error that a caller of the port gets. */
export function toError(error: unknown): Error {
  if (error instanceof StoreUnavailable) return error
  const fault = classifyPostgresError(error)
  // The server's own words would quote the value.
  if (fault === 'refused')
    return new ValuesRefused(`the database cannot hold it (${(error as { code: string }).code})`)
  const message = error instanceof Error ? error.message : 'unknown fault'
  if (fault === null) return new Error(`a fault in the store: ${message}`, { cause: error })
  return new StoreUnavailable(say('the store cannot commit now: {why}', { why: wordsOf(error) }), {
    cause: error,
  })
}

/** To pg all of these modes mean verify-full. It warns of it at every start, and a later pg would verify less. */
function verifyFully(url: string): string {
  if (url.includes('uselibpqcompat=')) return url
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full')
}

const LOGIN_REFUSED =
  'the database refuses our login: look at user and password in DATABASE_URL, and at pg_hba.conf'
export const MAY_NOT_CREATE =
  'the user of DATABASE_URL may not create tables: make it the owner of its database or schema'
/** A function, a setting or a whole statement is not there. */
const NO_POSTGRES =
  'the database does not know what Postgres 15 knows: name a Postgres 15 or later (docs/replicas.md says what is used of it)'
/** What an operator can do, by the code of a failed start. */
const ADVICE: Readonly<Record<string, Words>> = {
  '28P01': LOGIN_REFUSED,
  '28000': LOGIN_REFUSED,
  '3D000': 'the database named in DATABASE_URL does not exist: create it',
  '42501': MAY_NOT_CREATE,
  '0A000': NO_POSTGRES,
  '42601': NO_POSTGRES,
  '42704': NO_POSTGRES,
  '42883': NO_POSTGRES,
  '53300':
    'the database has no connection left: a replica needs 7; raise max_connections, or end what holds them',
  '25006':
    'DATABASE_URL leads to a standby, which can only be read: name the primary, or all hosts with target_session_attrs=read-write',
}

/** Says what an operator can do about a failed start, and whether it may be over by itself. Never shows the URL, which holds a password. */
export function adviseOnFailure(error: unknown): StoreUnusable {
  const { code = '', syscall, message = '' } = error as Partial<NodeJS.ErrnoException>
  const refuse = (words: Words, passes = false) => new StoreUnusable(words, { cause: error, passes })
  // The driver's own words, when the URL has no password.
  const advice = message.startsWith('SASL') ? LOGIN_REFUSED : ADVICE[code]
  if (advice !== undefined) return refuse(advice)
  // Nothing else is opened than the files of certificates.
  if (syscall === 'open' || /CERT|UNABLE_TO_/.test(code))
    return refuse(
      say(
        "the database's certificate is not trusted ({code}): add sslmode=verify-full&sslrootcert=FILE to DATABASE_URL, with its authority's certificate",
        { code },
      ),
    )
  if (message.includes('does not support SSL'))
    return refuse(
      'the database does not speak TLS: set ssl = on there, or sslmode=disable in DATABASE_URL on a network of your own',
    )
  const passes = classifyPostgresError(error) !== null
  return SQLSTATE.test(code)
    ? refuse(say('the database cannot be used now ({code}): look at its log', { code }), passes)
    : refuse(
        'the database does not answer: look at host and port in DATABASE_URL, and whether it runs',
        passes,
      )
}
