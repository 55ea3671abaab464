import { API } from '../admin/status/openapi.ts'
import { loadSomeSettings } from '../config/config.ts'
import { adminAddress } from '../config/sources.ts'
import { type ReaderLanguage, type Sentence, say, translateText } from '../language/sentence.ts'
import type { Io } from './command.ts'

/** An answer of the status API; without one, why, and the HTTP status if somebody answered. */
type ServiceAnswer = { readonly answer: unknown } | { readonly why: Sentence; readonly status: number | null }

/**
 * Makes the function that asks the status API of the running service: with a body by POST, else by GET.
 * @param language of the reader of its sentences. @throws ConfigError
 */
export function askService(
  io: Io,
  language: ReaderLanguage,
): (path: string, body?: object) => Promise<ServiceAnswer> {
  const settings = loadSomeSettings(io, ['ADMIN_TOKEN', 'ADMIN_TOKENS', 'STATUS_TOKEN'])
  const { ADMIN_TOKEN, ADMIN_TOKENS, STATUS_TOKEN } = settings
  const token = ADMIN_TOKEN ?? [...(ADMIN_TOKENS ?? [])][0]?.[1] ?? STATUS_TOKEN
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
