/** What may be said of an unexpected error. */
export interface PresentableFault {
  readonly type: string
  readonly code?: string
  readonly stack?: string
}

/** A frame of V8's: a function's name, if any, and a place. Nothing else that begins with `at`. */
const FRAME = /^\s+at (?:[\w$.<>[\] ]{1,120} \()?(?:file:\/\/\/|\/|node:|[A-Za-z]:\\)[^\s()]+:\d+:\d+\)?$/

/**
 * An error as the log may have it: its class, its code and where it happened. Never its message or cause: a library's
 * message may quote what it was given, which here is a code, a link or a password.
 */
export function presentableFault(error: unknown): PresentableFault {
  if (!(error instanceof Error)) return { type: typeof error }
  const { name, message, stack = '' } = error
  const after = message === '' ? 0 : stack.indexOf(message)
  // The message stands in front of the frames, and may have lines that look like some.
  const frames = stack
    .slice(after < 0 ? 0 : after + message.length)
    .split('\n')
    .filter(line => FRAME.test(line))
    .slice(0, 12)
    .join('\n')
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  return { type: name, ...code, ...(frames === '' ? {} : { stack: frames }) }
}
