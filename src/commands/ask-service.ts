import { API } from '../admin/status/status.ts'
import { type AdminRole, loadSomeSettings, roleOf } from '../config/config.ts'
import { adminAddress } from '../config/sources.ts'
import { type ReaderLanguage, type Sentence, say } from '../language/sentence.ts'
import type { Io } from './command.ts'
import { requestHealth } from './health.ts'

/** How long a question that only reads may take, ms. */
const READ_WITHIN_MS = 10_000
export const SILENT = say(
  'the running service does not answer: look at its log and at the load of the machine, then start it again',
)

/** An answer of the status API; without one, why, and the HTTP status if somebody answered. */
type ServiceAnswer = { readonly answer: unknown } | { readonly why: Sentence; readonly status: number | null }

interface ServiceRequest {
  readonly method: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: AbortSignal | null
}

/**
 * Calls the private listener of the running service with the first password that opens most.
 * @returns `response`: its answer; or it gives none in time, or is not there. @throws ConfigError
 */
export async function callService(
  io: Io,
  path: string,
  { headers, ...asked }: ServiceRequest,
): Promise<{ readonly url: string; readonly response: Response | 'silent' | 'away' }> {
  const { ADMIN_TOKENS: tokens = new Map<string, string>() } = loadSomeSettings(io, ['ADMIN_TOKENS'])
  const tokenOf = (role: AdminRole) => [...tokens].find(([name]) => roleOf(name) === role)?.[1]
  const token = tokenOf('operator') ?? tokenOf('status')
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const url = `${adminAddress(io)}${path}`
  // What is asked for may take long, such as a backup, but not this.
  if ((await requestHealth(io, '/healthz')).is === 'silent') return { url, response: 'silent' }
  const answer = fetch(url, { ...asked, headers: { ...headers, ...authorization } })
  const why = (error: Error) => (error.name === 'TimeoutError' ? 'silent' : 'away')
  return { url, response: await answer.catch(why) }
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
): Promise<ServiceAnswer> {
  const { url, response } = await callService(io, `${API}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    signal: body === undefined ? AbortSignal.timeout(READ_WITHIN_MS) : null,
    headers: { 'accept-language': language, ...(body && { 'content-type': 'application/json' }) },
    body: JSON.stringify(body),
  })
  if (response === 'silent') return { why: SILENT, status: null }
  if (response === 'away')
    return { why: say('nobody answers at {url}: start the service', { url }), status: null }
  const { status } = response
  const answer = (await response.json().catch(() => null)) as { readonly message?: string } | null
  if (status === 200 && answer !== null) return { answer }
  // All that a command has somebody type is a recipient.
  if (status === 400)
    return { why: say('That is neither a mail address nor a phone number in full (+86…).'), status }
  const text = answer?.message ?? say('not JSON')
  return { why: say('{url} says {status}: {text}', { url, status, text }), status }
}
