import { ConfigError } from '../config/config.ts'
import { StoreUnusable } from '../outbox/outbox.ts'
import { presentableFault } from '../runtime/fault.ts'
import { type Service, startService } from './service.ts'

/**
 * The `serve` command: settings from the environment and `.env`, signals, exit codes.
 * @returns the exit code, once the process may end.
 */
export async function serve(): Promise<number> {
  let service: Service
  try {
    service = await startService(process.env, { dotenvPath: '.env' })
  } catch (error) {
    process.stderr.write(`${describeStartFailure(error)}\n`)
    return 1
  }
  process.on('SIGHUP', () => service.reloadCertificate())
  exitOnFault(service)
  return closeOnSignal(service)
}

/** Closes the service at SIGTERM or SIGINT, and exits at once at a second one. @returns the exit code. */
function closeOnSignal({ log, config, close }: Service): Promise<number> {
  return new Promise(resolve => {
    let ending = false
    const end = (signal: string) => {
      if (ending) process.exit(1)
      ending = true
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
function exitOnFault({ log }: Service): void {
  const exit = (error: unknown) => {
    log.fatal(
      { event: 'fault', err: presentableFault(error) },
      'an unexpected fault: ending, to be started again',
    )
    log.flush(() => process.exit(70))
    setTimeout(() => process.exit(70), 1000).unref()
  }
  process.on('uncaughtException', exit)
  process.on('unhandledRejection', exit)
}

function describeStartFailure(error: unknown): string {
  if (error instanceof ConfigError || error instanceof StoreUnusable) return error.message
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    return `${error.message.replace(/^listen /, '')}: something else listens there; set PORT or ADMIN_PORT to another one, or end it`
  }
  return error instanceof Error ? error.message : 'an unknown fault'
}
