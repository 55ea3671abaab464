import { createHash } from 'node:crypto'
import { checkServerIdentity } from 'node:tls'
import { Agent, request } from 'undici'
import { type Sentence, type Words, wordsOf } from '../language/sentence.ts'
import { isCertificateError } from '../providers/diagnosis.ts'
import { objectOf, parseJson } from '../runtime/json-object.ts'

export interface ChannelCredentials {
  readonly corpId: string
  /** The Token of the channel, as entered in the console. */
  readonly token: string
}

/** The outcome of a call. A service that cannot be reached is one, too: `why` says what went wrong. */
export type CallbackAnswer =
  | {
      readonly is: 'answered'
      /** HTTP status. */
      readonly status: number
      /** It is null when the body has no integer `err_code`. */
      readonly errCode: number | null
      readonly errMsg: string
      /** The body as it came, cut to 2,000 characters. */
      readonly body: string
      readonly ms: number
    }
  | {
      readonly is: 'unreachable'
      readonly why: Words
      /** The service showed a certificate that this client does not accept. */
      readonly certificateRefused: boolean
      readonly ms: number
    }

export interface CallbackClientOptions {
  /** PEM of the only authority to trust; absent: the usual ones. */
  readonly ca?: string
  /** Accepts any certificate: for a service with a self-signed one, on a machine of your own. */
  readonly insecure?: boolean
  /** The host that the certificate must be for; that of the URL unless given. */
  readonly host?: string
  /** Default `callback-courier-send`. */
  readonly userAgent?: string
  /** How long it waits for an answer, in ms. Default 10,000. */
  readonly timeoutMs?: number
  /** ms since the epoch, for the GET's `timestamp`. */
  readonly now?: () => number
}

export interface CallbackClient {
  /** Validates a URL as the platform's console does: GET with `timestamp` and `signature`. The URL is valid when HTTP says 200. */
  validate(url: string, credentials: ChannelCredentials): Promise<CallbackAnswer>
  /**
   * Hands over an e-mail or an SMS. `credentials`: sign it like the GET; the contract leaves open whether the platform does.
   * @param headers beside those of every call.
   */
  post(
    url: string,
    body: unknown,
    credentials?: ChannelCredentials,
    headers?: Readonly<Record<string, string>>,
  ): Promise<CallbackAnswer>
  close(): Promise<void>
}

/**
 * The platform's side of the callbacks, as the contract describes it: a signed GET that validates a URL, and unsigned
 * POSTs that carry an e-mail or an SMS.
 * @param options see {@link CallbackClientOptions}. Nothing here throws for what a service answers, or for its absence.
 */
export function createCallbackClient(options: CallbackClientOptions = {}): CallbackClient {
  const { timeoutMs = 10_000, now = Date.now, userAgent = 'callback-courier-send', host } = options
  const agent = new Agent({
    connect: {
      timeout: timeoutMs,
      rejectUnauthorized: options.insecure !== true,
      ca: options.ca,
      checkServerIdentity: (name, shown) => checkServerIdentity(host ?? name, shown),
    },
  })

  /** @param credentials signs the call when they are there. */
  async function call(
    method: 'GET' | 'POST',
    url: string,
    credentials: ChannelCredentials | undefined,
    body?: string,
    more: Readonly<Record<string, string>> = {},
  ): Promise<CallbackAnswer> {
    const began = performance.now()
    const ms = () => Math.round(performance.now() - began)
    try {
      const target = credentials ? signUrl(url, credentials, now()) : new URL(url)
      const response = await request(target, {
        method,
        dispatcher: agent,
        headers: { 'content-type': 'application/json', 'user-agent': userAgent, ...more },
        signal: AbortSignal.timeout(timeoutMs),
        body,
      })
      const text = await response.body.text()
      return { is: 'answered', status: response.statusCode, ...readAnswer(text), ms: ms() }
    } catch (error) {
      const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
      return {
        is: 'unreachable',
        why: describeError(error),
        certificateRefused: isCertificateError(code ?? ''),
        ms: ms(),
      }
    }
  }

  return {
    validate: (url, credentials) => call('GET', url, credentials),
    post: (url, body, credentials, headers) => call('POST', url, credentials, JSON.stringify(body), headers),
    close: () => agent.close(),
  }
}

/** The contract's signature: SHA1 over corp_id, Token and timestamp, concatenated, as 40 hex digits. */
export function computeSignature(credentials: ChannelCredentials, timestamp: string): string {
  return createHash('sha1')
    .update(credentials.corpId + credentials.token + timestamp)
    .digest('hex')
}

function signUrl(url: string, credentials: ChannelCredentials, at: number): URL {
  const to = new URL(url)
  const timestamp = String(Math.floor(at / 1000))
  to.searchParams.set('timestamp', timestamp)
  to.searchParams.set('signature', computeSignature(credentials, timestamp))
  return to
}

function readAnswer(text: string): { errCode: number | null; errMsg: string; body: string } {
  const { err_code: code, err_msg: message } = objectOf(parseJson(text)) ?? {}
  return {
    errCode: Number.isInteger(code) ? Number(code) : null,
    errMsg: typeof message === 'string' ? message : '',
    body: text.slice(0, 2000),
  }
}

function describeError(error: unknown): Sentence {
  // Node's error for a name with several addresses has an empty message; its first cause speaks.
  const cause = error instanceof AggregateError ? (error.errors[0] as Error | undefined) : undefined
  return wordsOf(cause ?? error)
}
