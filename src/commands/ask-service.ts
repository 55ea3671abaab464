import { API } from '../admin/status/status.ts'
import { type AdminRole, loadSomeSettings, roleOf } from '../config/config.ts'
import { adminAddress } from '../config/sources.ts'
import { type ReaderLanguage, type Sentence, say } from '../language/sentence.ts'
import { filledTextOf, objectOf, parseJson } from '../runtime/json-object.ts'
import type { Io } from './command.ts'
import { requestHealth } from './health.ts'

/** How long an answer may take, ms: who is forgotten in a large store takes longest. */
const ANSWER_WITHIN_MS = 30_000
const SILENT = say(
  'the running service does not answer: look at its log and at the load of the machine, then start it again',
)

/** Why there is no answer that can be used, and the HTTP status if somebody answered. */
interface NoAnswer {
  readonly why: Sentence
  readonly status: number | null
}

interface ServiceRequest {
  readonly method: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: AbortSignal | null
}

/**
 * Calls the private listener of the running service with the first password that opens most.
 * @returns its answer, when that is 200. @throws ConfigError
 */
export async function callService(
  io: Io,
  path: string,
  { headers, ...asked }: ServiceRequest,
): Promise<{ readonly response: Response } | NoAnswer> {
  const { ADMIN_TOKENS: tokens = new Map<string, string>() } = loadSomeSettings(io, ['ADMIN_TOKENS'])
  const tokenOf = (role: AdminRole) => [...tokens].find(([name]) => roleOf(name) === role)?.[1]
  const token = tokenOf('operator') ?? tokenOf('status')
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const url = `${adminAddress(io)}${path}`
  // What is asked for may take long, such as a backup, but not this.
  if ((await requestHealth(io, '/healthz')).is === 'silent') return { why: SILENT, status: null }
  try {
    const response = await fetch(url, { ...asked, headers: { ...headers, ...authorization } })
    const { status } = response
    if (status === 200) return { response }
    return { why: say('{url} says {status}: {text}', { url, status, text: await readWhy(response) }), status }
  } catch (error) {
    const isLate = error instanceof Error && error.name === 'TimeoutError'
    return { why: isLate ? SILENT : say('nobody answers at {url}: start the service', { url }), status: null }
  }
}

/** The message of a refusal in JSON, or its text. */
async function readWhy(response: Response): Promise<string> {
  const text = (await response.text()).trim()
  return filledTextOf(objectOf(parseJson(text))?.['message']) ?? text.slice(0, 200)
}

/**
 * Asks the status API of the running service: with a body by POST, else by GET.
 * @param language of the reader of its sentences. @throws ConfigError
 */
export async function askService(
  io: Io,
  language: ReaderLanguage,
  path: string,
  body?: object,
): Promise<{ readonly answer: unknown } | NoAnswer> {
  const called = await callService(io, `${API}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    headers: { 'accept-language': language, ...(body && { 'content-type': 'application/json' }) },
    body: JSON.stringify(body),
  })
  // All that a command has somebody type is a recipient.
  if ('why' in called && called.status === 400)
    return { ...called, why: say('That is neither a mail address nor a phone number in full (+86…).') }
  if ('why' in called) return called
  const { url, status } = called.response
  const answer: unknown = await called.response.json().catch(() => null)
  return answer === null
    ? { why: say('{url} says {status}: {text}', { url, status, text: say('not JSON') }), status }
    : { answer }
}
