import { say, type Words } from '../language/sentence.ts'

/** The parts of an unexpected error that may be shown. */
export interface PresentableFault {
  readonly type: string
  readonly code?: string
  readonly stack?: string
}

/** A stack frame as V8 prints it: a function's name, if any, and a place; no other line that begins with `at`. */
const FRAME = /^\s+at (?:[\w$.<>[\] ]{1,120} \()?(?:file:\/\/\/|\/|node:|[A-Za-z]:\\)[^\s()]+:\d+:\d+\)?$/

/**
 * Reduces an error to what the log may hold: its class, its code and where it happened. Never its message or cause: a
 * library's message may quote its argument, which here is a code, a link or a password.
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

/**
 * Says why a file cannot be read and what to do, as the rest of a sentence that names the file.
 * @param error what node:fs threw.
 * @param uid the user of this process: in a container it is seldom the one who owns the file.
 */
export function judgeUnreadable(error: unknown, uid: number | undefined = process.getuid?.()) {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown fault'
  const remedy: Words = REMEDIES[code]?.(uid) ?? 'look at its path and permissions'
  return { problem: say('cannot be read ({code})', { code }), remedy }
}

/** The first line, from 1, that was not UTF-8 when it was read as that, as a fault; null: all was. */
export function findMisencoded(text: string) {
  const line = text.split('\n').findIndex(each => /[\uFFFD\0]/.test(each)) + 1
  const problem: Words = text.includes('\0') ? 'is UTF-16' : 'is not UTF-8'
  const remedy: Words = 'save the file as UTF-8'
  return line === 0 ? null : { line, problem, remedy }
}

const giveToUser = (uid = 0): Words =>
  say(
    'the service runs as user {uid}, who must be able to read it and to pass the folders above it; chown {uid} gives it to that user',
    { uid },
  )

const REMEDIES: Readonly<Record<string, (uid: number | undefined) => Words>> = {
  ENOENT: () => 'it is not there; in a container the path is the one inside, of a folder that is mounted',
  EISDIR: () => 'it is a folder; name the file in it',
  EACCES: giveToUser,
  EPERM: giveToUser,
}
