import { ConfigError } from '../config/config.ts'
import { type ReaderLanguage, say, wordsOf } from '../language/sentence.ts'
import { presentableFault } from '../runtime/fault.ts'
import { collectGarbageWhenIdle } from '../runtime/garbage.ts'
import { forTerminal } from '../runtime/terminal.ts'
import { flushLog, type LogDestination, openStdout } from './log.ts'
import { type Service, startService } from './service.ts'

/**
 * Runs the `serve` command: settings from the environment and `.env`, signals, exit codes.
 * @returns the exit code, once the process may end.
 */
export async function runService(language: ReaderLanguage): Promise<number> {
  const stdout = openStdout()
  let service: Service
  // A start may wait for its database. The first process of a container ignores signals that nobody listens for.
  const giveUp = () => process.exit(0)
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, giveUp)
  try {
    service = await startService(process.env, { dotenvPath: '.env', log: stdout })
  } catch (error) {
    process.stderr.write(`${forTerminal(describeStartFailure(error, language))}\n`)
    await flushLog(stdout, LAST_LINES_MS)
    return 1
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, giveUp)
  collectGarbageWhenIdle('service')
  process.on('SIGHUP', () => service.reloadCertificate())
  exitOnFault(service, stdout)
  const code = await closeOnSignal(service)
  await flushOrKill(stdout)
  return code
}

/** How long the last lines of the log may take, ms. */
const LAST_LINES_MS = 500
/** Closing may take so long beside DRAIN_SECONDS, ms: a close that takes longer would hang for ever. */
const CLOSE_WITHIN_MS = 10_000

/**
 * Ends the process now. An exit in order waits for threads, and one that writes to a pipe that nobody reads never comes
 * back.
 */
function killProcess(): void {
  process.kill(process.pid, 'SIGKILL')
}

/** Writes the last lines of the log; when nobody takes them, ends the process now. */
async function flushOrKill(stdout: LogDestination): Promise<void> {
  if (!(await flushLog(stdout, LAST_LINES_MS))) killProcess()
}

/** Closes the service at SIGTERM or SIGINT, and ends the process at once at a second one. @returns the exit code. */
export function closeOnSignal({
  log,
  config,
  close,
}: Pick<Service, 'log' | 'config' | 'close'>): Promise<number> {
  return new Promise(resolve => {
    let ending = false
    const end = (signal: string) => {
      if (ending) return killProcess()
      ending = true
      setTimeout(killProcess, config.DRAIN_SECONDS * 1000 + CLOSE_WITHIN_MS).unref()
      log.info({ event: 'signal', signal }, 'told to end')
      close(config.DRAIN_SECONDS * 1000).then(
        () => resolve(0),
        (error: unknown) => {
          log.fatal({ event: 'fault', err: presentableFault(error) }, 'could not end in order')
          resolve(1)
        },
      )
    }
    process.on('SIGTERM', () => end('SIGTERM'))
    process.on('SIGINT', () => end('SIGINT'))
  })
}

/** Exits with 70 after an error that nothing caught: nobody knows what state it left. */
function exitOnFault({ log }: Service, stdout: LogDestination): void {
  const exit = async (error: unknown) => {
    log.fatal(
      { event: 'fault', err: presentableFault(error) },
      'an unexpected fault: ending, to be started again',
    )
    await flushOrKill(stdout)
    process.exit(70)
  }
  process.on('uncaughtException', exit)
  process.on('unhandledRejection', exit)
}

/** @returns what the operator reads on stderr. */
export function describeStartFailure(error: unknown, language: ReaderLanguage): string {
  if (error instanceof ConfigError) return error.in(language)
  if (!(error instanceof Error)) return say('an unknown fault').in(language)
  if (!('code' in error && error.code === 'EADDRINUSE')) return wordsOf(error).in(language)
  const what = error.message.replace(/^listen /, '')
  return say('{what}: something else listens there; set PORT or ADMIN_PORT to another one, or end it', {
    what,
  }).in(language)
}
