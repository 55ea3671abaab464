import type { Int } from './exact-json.ts'

/** The result of a call to the platform. An expected failure is a value; only misuse throws. */
export type PlatformResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: PlatformFailure }

export type PlatformFailure =
  /** The platform said no. */
  | {
      readonly is: 'refused'
      readonly httpStatus: number
      /** The envelope's own `status`, where it has one; else the HTTP status. */
      readonly status: number
      /** Business code, defined per endpoint; null when the answer has none. */
      readonly code: Int | null
      /** The platform's words, on one line, at most 200 characters. */
      readonly message: string
    }
  /** It answered something that the contract does not describe. */
  | { readonly is: 'unreadable'; readonly httpStatus: number; readonly message: string }
  /** No answer: refused, reset, timed out. */
  | { readonly is: 'unreachable'; readonly message: string }

/**
 * Says whether the platform does not accept the credential: status 401 (missing) or 403 (failed authorization), in HTTP, in
 * the envelope, or in front of the business code, whose first three digits are the status (4011001, 4031003).
 */
export function refusesCredential(failure: PlatformFailure): boolean {
  if (failure.is !== 'refused') return false
  const { httpStatus, status, code } = failure
  const statusOfCode = code === null ? 0 : Math.floor(Number(code) / 10_000)
  return [httpStatus, status, statusOfCode].some(each => each === 401 || each === 403)
}

/** A failure as a log line may have it. */
export function describeFailure(failure: PlatformFailure): string {
  switch (failure.is) {
    case 'refused':
      return `refused: HTTP ${failure.httpStatus}, code ${failure.code ?? 'none'}${failure.message === '' ? '' : `, ${failure.message}`}`
    case 'unreadable':
      return `answered HTTP ${failure.httpStatus}, ${failure.message}`
    case 'unreachable':
      return failure.message
  }
}
