import pg from 'pg'
import { StoreUnavailable } from '../outbox.ts'

export type Client = pg.PoolClient
export type QueryResult = pg.QueryResult<Record<string, unknown>>

export interface ConnectOptions {
  readonly url: string
  /** Longest time that a statement may take, ms. */
  readonly statementTimeoutMs: number
  /** Longest time until a connection is made, ms; as long as a statement may take, unless given. */
  readonly connectTimeoutMs?: number
  /** How many at a time. */
  readonly max: number
  /** 0 ≤ x < 1 */
  readonly random: () => number
  readonly log: (event: { readonly doing: string; readonly message: string }) => void
}

const FIRST_WAIT_MS = 50
const LONGEST_WAIT_MS = 2000

export type Connections = ReturnType<typeof createConnections>

/**
 * Connections, each in a session that is set up for us.
 *
 * Lends out connections. While the database cannot be reached, calls fail at once, and it is tried again after a
 * growing wait with jitter, so that replicas do not all connect together when it comes back.
 */
export function createConnections(options: ConnectOptions) {
  const { statementTimeoutMs, random, log } = options
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.max,
    // Statements that need no answer of each other travel together.
    pipeline: true,
    keepAlive: true,
    application_name: 'callback-courier',
    connectionTimeoutMillis: options.connectTimeoutMs ?? statementTimeoutMs,
    // This limit is for a database that does not answer at all: one that answers ends the statement itself, and sooner.
    query_timeout: statementTimeoutMs * 1.5,
    types: bigintAsNumber,
    // The pool awaits this before it lends the connection.
    onConnect: client => client.query(sessionSettings(statementTimeoutMs)),
  })
  // A connection that breaks emits an error event too, and one without a listener would end the process. While the
  // connection is lent, its statements fail as well, and so do their callers.
  pool.on('connect', client => client.on('error', () => {}))
  pool.on('error', error => log({ doing: 'an idle connection', message: error.message }))
  let wait = 0
  let notBefore = 0

  async function connect(): Promise<Client> {
    if (performance.now() < notBefore)
      throw new StoreUnavailable('the database could not be reached just now')
    try {
      const client = await pool.connect()
      wait = 0
      return client
    } catch (error) {
      wait = Math.min(Math.max(wait * 2, FIRST_WAIT_MS), LONGEST_WAIT_MS)
      notBefore = performance.now() + wait * (0.5 + random() / 2)
      throw error
    }
  }

  return {
    /**
     * Lends a connection to some work. A connection on which anything failed is thrown away, and with it what it had
     * not committed.
     */
    async use<T>(work: (client: Client) => Promise<T>): Promise<T> {
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
    close: (): Promise<void> => pool.end(),
  }
}

/**
 * Makes the settings of a session:
 *
 * - `synchronous_commit`: a commit is never acknowledged before it is on disk, whatever the database's default is
 * - `idle_in_transaction_session_timeout`: a process that is stopped in the middle releases its locks
 * - `enable_…`, `jit`: every statement has its index, whose rows it asks for one by one, and most a LIMIT; a plan made while
 *   the table was empty must not walk through a million rows later, nor be compiled for looking expensive
 */
function sessionSettings(statementTimeoutMs: number): string {
  return `
    SET synchronous_commit = on;
    SET statement_timeout = ${Math.round(statementTimeoutMs)};
    SET lock_timeout = ${Math.round(statementTimeoutMs * 0.8)};
    SET idle_in_transaction_session_timeout = ${Math.round(statementTimeoutMs * 2)};
    SET enable_seqscan = off;
    SET enable_bitmapscan = off;
    SET enable_mergejoin = off;
    SET enable_hashjoin = off;
    SET jit = off`
}

/** Has pg read bigint as a number: ours are milliseconds and counts. With the text that pg gives, `at + 1` would append a digit. */
const bigintAsNumber: pg.CustomTypesConfig = {
  getTypeParser: ((...asked: Parameters<typeof pg.types.getTypeParser>) =>
    asked[0] === pg.types.builtins.INT8
      ? Number
      : pg.types.getTypeParser(...asked)) as typeof pg.types.getTypeParser,
}

/** A statement that each session prepares once, by its name. `$1` is as a rule all rows of a batch, as JSON. */
export function statement(name: string) {
  return (strings: TemplateStringsArray, ...values: readonly (string | number)[]) => ({
    name,
    text: String.raw({ raw: strings }, ...values),
  })
}
export type Statement = ReturnType<ReturnType<typeof statement>>

/** Lets what is asked for in one go leave in one write: the driver makes a write of each statement, and each wakes the server. */
function gatherWrites({ connection: { stream } }: Client): void {
  if (stream.writableCorked > 0) return
  stream.cork()
  queueMicrotask(() => stream.uncork())
}

export function beginTransaction(client: Client): Promise<QueryResult> {
  gatherWrites(client)
  return client.query<Record<string, unknown>>('BEGIN')
}

export function runStatement(
  client: Client,
  { name, text }: Statement,
  ...values: readonly unknown[]
): Promise<QueryResult> {
  gatherWrites(client)
  return client.query<Record<string, unknown>>({ name, text, values: [...values] })
}

/** A statement that only writes, with its values. */
export interface Write extends Statement {
  readonly values: readonly unknown[]
}

/** What is written together, by the names of its parts. */
const joined = new Map<string, Statement>()

/**
 * Runs writes to different tables as one statement, since each costs both sides a round of the protocol. The first one is done
 * first, and the others in any order: only the first may have to wait for another transaction.
 */
export function runTogether(client: Client, writes: readonly Write[]): Promise<QueryResult>[] {
  if (writes.length === 0) return []
  const key = writes.map(({ name }) => name).join(' ')
  const statement = joined.get(key) ?? joinWrites(writes, `together-${joined.size}`)
  joined.set(key, statement)
  return [runStatement(client, statement, ...writes.flatMap(({ values }) => values))]
}

function joinWrites(writes: readonly Write[], name: string): Statement {
  let before = 0
  const [first, ...others] = writes.map(({ text, values }) => {
    const shift = before
    before += values.length
    return text.replaceAll(/\$(\d+)/g, (_, n: string) => `$${Number(n) + shift}`)
  })
  const beside = others.map((text, n) => `w${n} AS (${text})`).join(', ')
  return { name, text: beside === '' ? `${first}` : `WITH ${beside} ${first}` }
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
