import { listWords, say, type Words } from '../../language/sentence.ts'
import { type Diagnosis, diagnoseConnection, unverified } from '../diagnosis.ts'
import { PROBE_MS, type Verification } from '../provider.ts'
import { createRedactor, NO_MESSAGE } from '../redact.ts'
import type { SmtpConnectionOptions } from './connection.ts'
import { Attempt, asSmtpError, openSession, SENDER_COMMAND, secretsOf } from './connection.ts'
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
    const detail = say('takes {sender} as sender', { sender: bounceTo || say('the empty sender') })
    return { ok: true, detail: listWords([describeLogin(options), detail], '; ') }
  } catch (thrown) {
    if (thrown instanceof LoginError) return unverified(thrown.failure, thrown.failure.reply)
    const error = asSmtpError(thrown)
    const redactor = createRedactor(NO_MESSAGE, secretsOf(options))
    const { reply } = smtpFailure(error, { begun: false, dotted: false }, redactor)
    return unverified(diagnoseLogin(error, address), reply)
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
function describeLogin({ address, tokenLogin }: SmtpConnectionOptions): Words {
  if (tokenLogin !== undefined) return 'connected and logged in with an access token'
  return address.auth ? 'connected and logged in' : 'connected; no login is configured'
}

/** Finds the cause of a failed login. */
function diagnoseLogin(error: SmtpError, { host, port, secure }: SmtpAddress): Diagnosis {
  const at = `${host}:${port}`
  if (error.response !== undefined) return diagnoseReply(error, at)
  if (secure && /wrong version number|packet length/i.test(error.message))
    return {
      what: say('{at} does not speak TLS from the first byte', { at }),
      next: 'write smtp:// (STARTTLS) instead of smtps://, or the port for smtps://, which is 465',
    }
  if (/greeting|connection closed/i.test(error.message))
    return {
      what: say('{at} takes the connection, and says nothing', { at }),
      next: 'write smtps:// if it begins with TLS, as on port 465; else look at the server, and whether a firewall or proxy on the way answers in its place',
    }
  const cause = error.originalCode ?? error.code ?? ''
  const found = diagnoseConnection({ cause, host, port, setting: SETTING })
  return (
    found ?? {
      what: say('the connection to {at} fails', { at }),
      next: say('look at host and port in {setting}', { setting: SETTING }),
    }
  )
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
  // The token endpoint has given a token, twice.
  if (command === TOKEN_COMMAND)
    return {
      what: 'there is an access token, but the server does not take it',
      next: 'look at the user in SMTP_URL, whom the token has to be for, and at SMTP_OAUTH2_SCOPE; docs/operations.md has what Microsoft 365 (SMTP AUTH switched on, SMTP.SendAsApp) and Google (https://mail.google.com/) want',
    }
  if (code === 'EAUTH')
    return {
      what: 'the server refuses the login',
      next: 'look at user and password in SMTP_URL; many providers want an app password, or SMTP switched on for the mailbox',
    }
  if (command === 'STARTTLS' || code === 'ETLS')
    return {
      what: say('{at} offers no TLS', { at }),
      next: 'look at the port in SMTP_URL; 587 is the usual one',
    }
  return {
    what: 'the server refuses the connection',
    next: 'its own words say why: often the address that this machine connects from has to be allowed',
  }
}
