import { say, tell, type WholeSentence, type Words } from '../language/sentence.ts'
import { causeOf, type FailedExchange } from './http-client.ts'
import type { Verification } from './provider.ts'

/** The reason why a provider does not work, in our words, and the remedy. */
export interface Diagnosis {
  readonly what: Words
  readonly next: Words
}

/** A connection that failed, as far as it is known. */
export interface FailedConnection {
  /** The code of the system, of TLS, of undici or of imapflow. */
  readonly cause: string
  readonly host: string
  readonly port: number
  /** The setting that says where the provider is. */
  readonly setting: string
}

/** Finds the cause of a connection that could not be made; null when the code does not tell. */
export function diagnoseConnection({ cause, host, port, setting }: FailedConnection): Diagnosis | null {
  const at = `${host}:${port}`
  if (cause === 'EAI_AGAIN')
    return {
      what: say('the DNS does not answer for {host}', { host }),
      next: 'look at the name servers of this machine (/etc/resolv.conf), and at the firewall on the way to them',
    }
  if (/^(?:ENOTFOUND|EDNS|EAI_)/.test(cause))
    return {
      what: say('the DNS has no address for {host}', { host }),
      next: say('look at the host in {setting}, and whether this machine can ask the DNS', { setting }),
    }
  if (cause === 'ECONNREFUSED')
    return {
      what: say('nothing listens at {at}', { at }),
      next: say('look at host and port in {setting}, and whether the server runs', { setting }),
    }
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH|EPROTO/.test(cause))
    return {
      what: say('{at} does not speak TLS from the first byte', { at }),
      next: say('look at scheme and port in {setting}', { setting }),
    }
  if (/ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|^answer-limit$/.test(cause))
    return {
      what: say('{at} does not answer', { at }),
      next: say('look at the firewall on the way, and at host and port in {setting}', { setting }),
    }
  if (/^(?:UND_ERR_HEADERS|GREETING)_TIMEOUT$/.test(cause))
    return {
      what: say('{at} takes the connection, and says nothing', { at }),
      next: say(
        'look at the server that {setting} names, and whether a firewall or proxy on the way answers in its place',
        { setting },
      ),
    }
  if (cause === 'NOT_HTTP')
    return {
      what: say('{at} does not speak HTTP', { at }),
      next: say('look at scheme and port in {setting}', { setting }),
    }
  if (/^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE|ClosedAfterConnect.*)$/.test(cause))
    return {
      what: say('{at} takes the connection, and hangs up', { at }),
      next: say('look at scheme and port in {setting}, and at the log of the server', { setting }),
    }
  return isCertificateError(cause) ? diagnoseCertificate(cause, host, setting) : null
}

/** Finds the cause of a request that got no answer. @param setting that says where the API is, at `apiUrl`. */
export function diagnoseExchange(failed: FailedExchange, apiUrl: string, setting: string): Diagnosis {
  const { error, written, stopped } = failed
  const { hostname: host, port: stated, protocol } = new URL(apiUrl)
  const port = Number(stated) || (protocol === 'http:' ? 80 : 443)
  // Our own limit, which counts from the request on, when undici's clock is a moment late.
  const isSilent = stopped === 'answer-limit' && written
  const cause = isSilent ? 'UND_ERR_HEADERS_TIMEOUT' : (causeOf(failed) ?? '')
  return (
    diagnoseProxy(error, cause, host, port) ??
    diagnoseConnection({ cause, host, port, setting }) ?? {
      what: say('the connection to {host} fails', { host }),
      next: say('look at the firewall on the way, at HTTPS_PROXY and at {setting}', { setting }),
    }
  )
}

/** The result of a check of an account that does not work. @param reply what was said, which may begin with the finding. */
export function unverified({ what, next }: Diagnosis, reply: Words = what): Verification {
  if (String(reply).startsWith(String(what))) return { ok: false, detail: reply, next }
  return { ok: false, detail: say('{what} ({reply})', { what: tell(what), reply: tell(reply) }), next }
}

/** An error of Node or undici, as far as it tells of the other end. */
interface FailedPeer {
  readonly message?: string
  /** The name, when the DNS does not know it. */
  readonly hostname?: string
  /** The address, when it refused the connection. */
  readonly address?: string
  readonly port?: number
  /** When several addresses were tried. */
  readonly errors?: readonly FailedPeer[]
}

/** Finds whether HTTPS_PROXY is at fault: it refuses a tunnel, or the connection that failed was not one to the API. */
function diagnoseProxy(error: unknown, cause: string, host: string, port: number): Diagnosis | null {
  const failed = (error ?? {}) as FailedPeer
  const { message: words = '', hostname, address, port: tried } = failed.errors?.[0] ?? failed
  // undici has no code of its own for it.
  const status = /^Proxy response \((\d+)\)/.exec(words)?.[1]
  if (status !== undefined)
    return {
      what: say('the proxy refuses the way to {host}:{port} (HTTP {status})', { host, port, status }),
      next:
        status === '407'
          ? 'look at user and password in HTTPS_PROXY'
          : 'let the proxy allow it, or name the host in NO_PROXY',
    }
  const [, late, latePort] = /attempted address(?:es)?: (\S+):(\d+)/.exec(words) ?? []
  const other = { host: hostname ?? late ?? address ?? host, port: Number(tried ?? latePort ?? port) }
  const isOther = hostname !== undefined ? hostname !== host : other.port !== port
  return isOther ? diagnoseConnection({ cause, ...other, setting: 'HTTPS_PROXY' }) : null
}

function diagnoseCertificate(cause: string, host: string, setting: string): Diagnosis {
  if (cause === 'CERT_HAS_EXPIRED')
    return {
      what: say('the certificate of {host} has expired', { host }),
      next: 'whoever runs the server has to renew it; look at the clock of this machine, too',
    }
  if (cause === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return {
      what: say('the certificate is not for the name {host}', { host }),
      next: say('write the name into {setting} that is in the certificate', { setting }),
    }
  return {
    what: say('the certificate of {host} is of an authority that is not trusted here', { host }),
    next: 'set TLS_CA_FILE to the certificate of that authority; a server of the internet has to send its whole chain',
  }
}

/** What to do about replies that say more than how they are judged. */
const ADVICE: { readonly [next in WholeSentence]?: RegExp } = {
  'Set the clock of this machine right (NTP).':
    /^(?:InvalidTimeStamp\.Expired|AuthFailure\.SignatureExpire)\b/,
  'Copy the key again: the carrier knows none such.':
    /^(?:InvalidAccessKeyId\.|AuthFailure\.SecretIdNotFound)/,
  'Send from an address in mainland China.': /^isv\.DENY_IP_RANGE\b/,
  'Nothing is to be done: it is tried again by itself.':
    /ThirtySecondLimit|BUSINESS_LIMIT_CONTROL.*分钟|gr[ae]y-?list/i,
  'The number is on a blacklist, which only the person can leave.':
    /BLACK_KEY_CONTROL|MOBILE_(?:IN_)?BLACK|W-BLACK|^21610\b/,
}

/** The next step by a reply and its code; null: how it is judged says all. */
export function adviceOn({ code, reply }: { readonly code?: string | null; readonly reply?: Words }) {
  const said = `${code ?? ''} ${String(reply ?? '')}`.trim()
  const [next = null] = Object.entries(ADVICE).find(([, known]) => known.test(said)) ?? []
  return next as WholeSentence | null
}

/** Says whether a code is one of OpenSSL's verification results, or of Node's check of the name. */
export function isCertificateError(code: string): boolean {
  return /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|CRL/.test(code)
}
