import { API } from '../admin/status/openapi.ts'
import { type AdminRole, loadSomeSettings, roleOf } from '../config/config.ts'
import { adminAddress } from '../config/sources.ts'
import { type ReaderLanguage, type Sentence, say, translateText } from '../language/sentence.ts'
import type { Io } from './command.ts'

/** An answer of the status API; without one, why, and the HTTP status if somebody answered. */
type ServiceAnswer = { readonly answer: unknown } | { readonly why: Sentence; readonly status: number | null }

/** The first password that opens what a role may open. */
export function tokenFor(
  role: AdminRole,
  tokens: ReadonlyMap<string, string> = new Map(),
): string | undefined {
  return [...tokens].find(([name]) => roleOf(name) === role)?.[1]
}

/**
 * Makes the function that asks the status API of the running service: with a body by POST, else by GET.
 * @param language of the reader of its sentences. @throws ConfigError
 */
export function askService(
  io: Io,
  language: ReaderLanguage,
): (path: string, body?: object) => Promise<ServiceAnswer> {
  const { ADMIN_TOKENS: tokens } = loadSomeSettings(io, ['ADMIN_TOKENS'])
  const token = tokenFor('operator', tokens) ?? tokenFor('status', tokens)
  const headers = {
    'accept-language': language,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  }
  return async (path, body) => {
    const url = `${adminAddress(io)}${API}${path}`
    const posted =
      body === undefined
        ? { headers }
        : {
            method: 'POST',
            headers: { ...headers, 'content-type': 'application/json' },
            body: JSON.stringify(body),
          }
    const response = await fetch(url, posted).catch(() => null)
    if (response === null)
      return { why: say('nobody answers at {url}: start the service', { url }), status: null }
    const { status } = response
    const answer = (await response.json().catch(() => null)) as { readonly message?: string } | null
    if (status === 200 && answer !== null) return { answer }
    const text = translateText(answer?.message ?? 'not JSON')
    return { why: say('{url} says {status}: {text}', { url, status, text }), status }
  }
}
