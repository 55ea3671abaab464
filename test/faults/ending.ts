import { join } from 'node:path'
import type { Test } from 'tap'
import { deriveCallbackKey } from '../../src/callback/authenticate.ts'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { type ServiceProcess, startProcess } from '../rigs/process.ts'
import { CORP_ID, EMAIL_TOKEN, NO_QUOTAS, type Settings, type Sinks, startSinks } from '../rigs/service.ts'
import { createCallbacks } from './callbacks.ts'
import { type Judgement, judge, readRows } from './checker.ts'
import { createDriver, type Driver, type DriverOptions } from './driver.ts'
import { backlogOf, mailsOf, pause } from './stage.ts'

export interface Burst {
  readonly sinks: Sinks
  readonly running: ServiceProcess
  readonly driver: Driver
  /** Posts mail after mail until it is stopped, or nobody listens any more. */
  callers(count: number): { stop(): Promise<unknown> }
  /** Starts it again without a fault, lets it send what waits, ends it and judges; a promise that was broken fails the test. */
  finish(): Promise<Judgement>
}

/** @param callers how many it is called by at once at most, and how long each waits for an answer. */
export async function openBurst(
  t: Test,
  settings: Settings,
  callers: Pick<DriverOptions, 'connections' | 'timeoutMs'> = { connections: 32 },
): Promise<Burst> {
  const sinks = await startSinks(t)
  const env = { ...sinks.settings, ...NO_QUOTAS, ...settings, PATH: process.env['PATH'] ?? '' }
  const running = await startProcess(t, env)
  const urls = {
    email: `${running.publicUrl}/callback/${CORP_ID}/${deriveCallbackKey('email', CORP_ID, EMAIL_TOKEN)}/email`,
  }
  const driver = createDriver({ urls: () => urls, ca: sinks.ca, ...callers })
  t.teardown(() => driver.close())
  const callbackOf = createCallbacks()
  return {
    sinks,
    running,
    driver,
    async finish() {
      sinks.smtp.act = undefined
      const next = await startProcess(t, env)
      while ((await backlogOf(next.adminUrl)) > 0) await pause(50)
      next.child.kill('SIGTERM')
      t.equal(await next.exited, 0)
      const { recipientHash } = createStoreKeys(sinks.settings['STORE_SECRET'] ?? '')
      const arrivals = mailsOf(sinks.smtp)
      const judgement = judge({ answers: driver.record, arrivals, rows: rowsOf(sinks), recipientHash })
      t.same(judgement.breaches, [])
      return judgement
    },
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
