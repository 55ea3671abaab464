import { connect } from 'node:tls'
import { lookUpName } from '../../runtime/name-lookup.ts'
import { type Diagnosis, diagnoseConnection } from '../diagnosis.ts'
import { PROBE_MS, type Verification } from '../provider.ts'
import { createRedactor, NO_MESSAGE } from '../redact.ts'
import {
  Attempt,
  asSmtpError,
  openSession,
  SENDER_COMMAND,
  type SmtpConnectionOptions,
  secretsOf,
} from './connection.ts'
import { LoginError } from './login.ts'
import { TOKEN_COMMAND } from './oauth2.ts'
import { type SmtpError, smtpFailure } from './outcome.ts'
import type { SmtpAddress } from './settings.ts'

const SETTING = 'SMTP_URL'

/** Connects, logs in and names the sender over a connection of its own; nothing is sent. */
export async function verifyAccount(options: SmtpConnectionOptions): Promise<Verification> {
  const { address, limits, bounceTo } = options
  const attempt = new Attempt(limits)
  try {
    const session = await openSession(options, attempt)
    try {
      await session.trySender(bounceTo)
      session.quit()
    } finally {
      session.close()
    }
    const detail = `takes ${bounceTo || 'the empty sender'} as sender`
    return { ok: true, detail: `${await describeLogin(options)}; ${detail}` }
  } catch (thrown) {
    if (thrown instanceof LoginError) {
      const { what, next, reply } = thrown.failure
      return { ok: false, detail: reply.startsWith(what) ? reply : `${what} (${reply})`, next }
    }
    const error = asSmtpError(thrown)
    const { reply } = smtpFailure(
      error,
      { begun: false, dotted: false },
      createRedactor(NO_MESSAGE, secretsOf(options)),
    )
    const { what, next } = await diagnoseLogin(error, address, limits.greetingMs)
    return { ok: false, detail: `${what} (${reply})`, next }
  } finally {
    attempt.finish()
  }
}

/** See Provider.probe: connects, and goes as far as EHLO, over TLS where it is spoken. */
export async function probeServer(options: SmtpConnectionOptions): Promise<'up' | 'down'> {
  const { auth: _login, ...address } = options.address
  const attempt = new Attempt(options.limits)
  const limit = setTimeout(() => attempt.stop('probe-limit'), PROBE_MS)
  try {
    const session = await attempt.unlessStopped(
      openSession({ ...options, address, tokenLogin: undefined }, attempt),
    )
    session.quit()
    session.close()
    return 'up'
  } catch {
    return 'down'
  } finally {
    clearTimeout(limit)
    attempt.finish()
  }
}

/** Says how the session that was just tried logs in. */
async function describeLogin({ address, tokenLogin, clock }: SmtpConnectionOptions): Promise<string> {
  if (tokenLogin === undefined)
    return address.auth ? 'connected and logged in' : 'connected; no login is configured'
  const token = await tokenLogin.tokens.getToken()
  const minutes = 'whose' in token ? 0 : Math.round((token.expiresAt - clock.now()) / 60_000)
  const rotates = tokenLogin.tokens.hasRotated()
    ? ' (with it came a new refresh token, which is forgotten with the next start: docs/operations.md)'
    : ''
  return `connected and logged in with an access token for ${minutes} min${rotates}`
}

/**
 * Finds the cause of a failed login.
 * @param withinMs how long the server may take for a TLS handshake, where that has to be tried.
 */
async function diagnoseLogin(error: SmtpError, address: SmtpAddress, withinMs: number): Promise<Diagnosis> {
  const { host, port, secure } = address
  const at = `${host}:${port}`
  if (error.response !== undefined) return diagnoseReply(error, at)
  if (secure && /wrong version number|packet length/i.test(error.message))
    return {
      what: `${at} does not speak TLS from the first byte`,
      next: 'write smtp:// (STARTTLS) instead of smtps://, or the port for smtps://, which is 465',
    }
  const isSilent = /greeting|connection closed/i.test(error.message)
  if (isSilent && !secure && (await speaksTls(address, withinMs)))
    return { what: `${at} waits for TLS from the first byte`, next: 'write smtps:// instead of smtp://' }
  if (isSilent)
    return {
      what: `${at} takes the connection, and says nothing`,
      next: 'look at the server, and whether a firewall or proxy on the way answers in its place',
    }
  const cause = error.originalCode ?? error.code ?? ''
  const found = diagnoseConnection({ cause, host, port, setting: SETTING })
  return found ?? { what: `the connection to ${at} fails`, next: `look at host and port in ${SETTING}` }
}

/** Explains a refusal that the server answered with. */
function diagnoseReply({ code, command = '', response = '' }: SmtpError, at: string): Diagnosis {
  // RFC 4954, 6: a server that wants a login says so to the first command that needs one.
  if (command === SENDER_COMMAND && /^530\b/.test(response))
    return {
      what: 'the server wants a login',
      next: 'write user and password into SMTP_URL, percent-encoded, or the user alone with SMTP_OAUTH2_TOKEN_URL',
    }
  if (command === SENDER_COMMAND)
    return {
      what: 'the server refuses the sender',
      next: 'set MAIL_BOUNCE_TO, or MAIL_FROM, to an address that this login may send as',
    }
  if (command === TOKEN_COMMAND) return diagnoseTokenRefusal(response)
  if (code === 'EAUTH')
    return {
      what: 'the server refuses the login',
      next: 'look at user and password in SMTP_URL; many providers want an app password, or SMTP switched on for the mailbox',
    }
  if (command === 'STARTTLS' || code === 'ETLS')
    return { what: `${at} offers no TLS`, next: 'look at the port in SMTP_URL; 587 is the usual one' }
  return {
    what: 'the server refuses the connection',
    next: 'its own words say why: often the address that this machine connects from has to be allowed',
  }
}

/** Explains why the mail server refuses the login: the token endpoint has given a token, twice, and the server does not take it for this user. */
function diagnoseTokenRefusal(response: string): Diagnosis {
  // https://aka.ms/smtp_auth_disabled
  if (/\b5\.7\.139\b/.test(response))
    return {
      what: 'SMTP AUTH is switched off for the tenant or the mailbox',
      next: 'Set-CASMailbox -Identity MAILBOX -SmtpClientAuthenticationDisabled $false, in Exchange Online PowerShell',
    }
  if (/\b5\.7\.3\b/.test(response))
    return {
      what: 'there is an access token, but the mailbox does not take it',
      next: 'look at the user in SMTP_URL and at SMTP_OAUTH2_SCOPE; Microsoft 365: SMTP.SendAsApp with admin consent, New-ServicePrincipal with the object id of the enterprise application, Add-MailboxPermission (docs/operations.md)',
    }
  return {
    what: 'there is an access token, but the server does not take it',
    next: 'look at the user in SMTP_URL, whom the token has to be for, and at SMTP_OAUTH2_SCOPE; for Google consent is to https://mail.google.com/',
  }
}

/** Says whether a server waits for TLS: such a server says nothing to a client that waits for its greeting. */
function speaksTls({ host, port }: SmtpAddress, withinMs: number): Promise<boolean> {
  return new Promise(resolve => {
    // Nothing is sent over this connection, so it does not matter whose certificate it is.
    const socket = connect({ host, port, rejectUnauthorized: false, timeout: withinMs, lookup: lookUpName })
    const end = (speaks: boolean) => {
      socket.destroy()
      resolve(speaks)
    }
    socket.once('secureConnect', () => end(true))
    socket.once('timeout', () => end(false))
    socket.once('error', () => end(false))
  })
}
