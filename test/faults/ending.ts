import { join } from 'node:path'
import type { Test } from 'tap'
import { deriveCallbackKey } from '../../src/callback/authenticate.ts'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { type ServiceProcess, startProcess } from '../rigs/process.ts'
import { CORP_ID, EMAIL_TOKEN, NO_QUOTAS, type Settings, type Sinks, startSinks } from '../rigs/service.ts'
import { createCallbacks } from './callbacks.ts'
import { judge, readRows } from './checker.ts'
import { createDriver, type Driver } from './driver.ts'
import { mailsOf } from './stage.ts'

export interface Burst {
  readonly sinks: Sinks
  readonly running: ServiceProcess
  readonly driver: Driver
  /** Posts mail after mail until it is stopped, or nobody listens any more. */
  callers(count: number): { stop(): Promise<unknown> }
  again(): Promise<ServiceProcess>
}

export async function openBurst(t: Test, settings: Settings): Promise<Burst> {
  const sinks = await startSinks(t)
  const env = { ...sinks.settings, ...NO_QUOTAS, ...settings, PATH: process.env['PATH'] ?? '' }
  const start = () => startProcess(t, env)
  const running = await start()
  const urls = {
    email: `${running.publicUrl}/callback/${CORP_ID}/${deriveCallbackKey('email', CORP_ID, EMAIL_TOKEN)}/email`,
  }
  const driver = createDriver({ urls: () => urls, ca: sinks.ca, connections: 32 })
  t.teardown(() => driver.close())
  const callbackOf = createCallbacks()
  return {
    sinks,
    running,
    driver,
    again: start,
    callers(count) {
      let stopped = false
      const call = async () => {
        while (!stopped) if ((await driver.post(callbackOf('email'))).status === undefined) return
      }
      const all = Array.from({ length: count }, call)
      return {
        stop: () => {
          stopped = true
          return Promise.all(all)
        },
      }
    },
  }
}

export function rowsOf(sinks: Pick<Sinks, 'directory'>) {
  return readRows(join(sinks.directory, 'outbox.db'))
}

export function verdict({ sinks, driver }: Burst) {
  const { recipientHash } = createStoreKeys(sinks.settings['STORE_SECRET'] ?? '')
  return judge({ answers: driver.record, arrivals: mailsOf(sinks.smtp), rows: rowsOf(sinks), recipientHash })
}
