import { ValuesRefused } from '../operations.ts'
import { StoreUnavailable } from '../outbox.ts'
import { QUOTA_COUNTERS } from './schema.ts'

/**
 * The meaning of an error of the database, or of the way to it, by SQLSTATE
 * (https://www.postgresql.org/docs/current/errcodes-appendix.html).
 *
 * - `again`       worth one more try at once: the connection broke, or the transaction lost against another
 * - `unavailable` passes when its cause is gone: no room, no permission, a time limit, a standby
 * - `refused`     values of the call itself: bad data, a constraint
 * - null          not the store's fault: a bug
 */
export function classifyError(error: unknown): 'again' | 'unavailable' | 'refused' | null {
  if (error instanceof StoreUnavailable) return 'unavailable'
  const code = (error as { code?: unknown } | null)?.code
  if (typeof code !== 'string' || !/^[0-9A-Z]{5}$/.test(code)) {
    // The error is not the server's, but a socket's, or pg's own about its connection.
    return error instanceof TypeError || error instanceof RangeError ? null : 'again'
  }
  if (/^(08|40)/.test(code) || /^57P0[1235]$/.test(code) || code === '25P03') return 'again'
  // This code stands both for a right that was taken away and for a read-only file system of the server.
  if (code === '42501') return 'unavailable'
  // Two transactions were the first to write a counter (postgres/quotas.ts).
  if (code === '23505' && (error as { table?: unknown }).table === QUOTA_COUNTERS) return 'again'
  // A key that is there already, or bad SQL, is a bug of ours.
  if (code === '23505' || code.startsWith('42')) return null
  return /^2[23]/.test(code) ? 'refused' : 'unavailable'
}

/** Makes the error that a caller of the port gets. */
export function toError(error: unknown): Error {
  if (error instanceof StoreUnavailable) return error
  const fault = classifyError(error)
  // The server's own words would quote the value.
  if (fault === 'refused')
    return new ValuesRefused(`the database cannot hold it (${(error as { code: string }).code})`)
  const message = error instanceof Error ? error.message : 'unknown fault'
  if (fault === null) return new Error(`a fault in the store: ${message}`, { cause: error })
  return new StoreUnavailable(`the store cannot commit now: ${message}`, { cause: error })
}

/** Tells an operator what to do when the store cannot be opened. Never shows the URL, which holds a password. */
export function adviseOnFailure(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (code === '28P01' || code === '28000') {
    return 'the database refuses our login: look at user and password in DATABASE_URL, and at pg_hba.conf'
  }
  if (code === '3D000') return 'the database named in DATABASE_URL does not exist: create it'
  if (code === '42501') {
    return 'the user of DATABASE_URL may not create tables: make it the owner of its database or schema'
  }
  if (code === '53300') {
    return 'the database has no connection left: a replica needs 7; raise max_connections, or end what holds them'
  }
  if (code === '25006') {
    return 'DATABASE_URL leads to a standby, which can only be read: name the primary'
  }
  if (typeof code === 'string' && /CERT|UNABLE_TO_/.test(code)) {
    return `the database's certificate is not trusted (${code}): add sslmode=verify-full&sslrootcert=FILE to DATABASE_URL, with its authority's certificate`
  }
  if (typeof message === 'string' && message.includes('does not support SSL')) {
    return 'the database does not speak TLS: set ssl = on there, or take sslmode out of DATABASE_URL on a network of your own'
  }
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) {
    return `the database cannot be used now (${code}): look at its log`
  }
  return 'the database does not answer: look at host and port in DATABASE_URL, and whether it runs'
}
