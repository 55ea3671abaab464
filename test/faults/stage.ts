import { join } from 'node:path'
import type { Test } from 'tap'
import { request } from 'undici'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import type { ServiceOptions } from '../../src/service/service.ts'
import { NO_QUOTAS, type ServiceRig, type Settings, startRig } from '../rigs/service.ts'
import type { SmtpServer } from '../rigs/smtp-server.ts'
import type { TwilioServer } from '../rigs/twilio-server.ts'
import { type Callback, CODE, createCallbacks, type Wanted } from './callbacks.ts'
import { type Arrival, type Judgement, judge, type Row, readRows } from './checker.ts'
import { createDriver, type Driver } from './driver.ts'

/** Limits of providers that let a stall of theirs end within a test. */
export const QUICK: NonNullable<ServiceOptions['limits']> = {
  smtp: { connectMs: 1000, greetingMs: 700, commandMs: 700, replyMs: 1000 },
  twilio: { connectMs: 1000, answerMs: 1000, bodyMs: 700 },
}

/** The service with a platform in front and recording sinks behind, and the judge of it all. */
export interface Stage extends ServiceRig {
  readonly driver: Driver
  readonly callback: (channel: 'email' | 'sms', wanted?: Wanted) => Callback
  /** As many as wanted, alike but for code and recipient. */
  readonly callbacks: (channel: 'email' | 'sms', count: number, wanted?: Wanted) => readonly Callback[]
  arrivals(): readonly Arrival[]
  /** Resolves when no message is live any more. */
  atRest(): Promise<void>
  /** Ends the service, reads its store and judges; a promise that was broken fails the test. */
  finish(): Promise<Judgement & { readonly rows: readonly Row[] }>
}

export async function openStage(
  t: Test,
  settings: Settings = {},
  options: ServiceOptions = { limits: QUICK },
): Promise<Stage> {
  // With the store in a thread of its own, as in production: under load and faults it is tried, too.
  const usual: ServiceOptions = { repeatPausesMs: [1000], startStoreThread: undefined }
  const rig = await startRig(t, { ...NO_QUOTAS, ...settings }, { ...usual, ...options })
  const store = settings['DATABASE_URL']?.replace(/^file:/, '') ?? join(rig.directory, 'outbox.db')
  const driver = createDriver({ urls: () => rig.service().urls, ca: rig.ca, connections: 64 })
  t.teardown(() => driver.close())
  const callback = createCallbacks()
  const storeKeys = createStoreKeys(rig.settings['STORE_SECRET'] ?? '')
  const arrivals = () => [...mailsOf(rig.smtp), ...smsOf(rig.twilio)]
  return {
    ...rig,
    driver,
    callback,
    callbacks: (channel, count, wanted) => Array.from({ length: count }, () => callback(channel, wanted)),
    arrivals,
    atRest: () => atRest(rig),
    async finish() {
      await rig.service().close()
      const rows = readRows(store)
      const { recipientHash } = storeKeys
      const judgement = judge({ answers: driver.record, arrivals: arrivals(), rows, recipientHash })
      t.same(judgement.breaches, [], 'each copy is explained by the timeline')
      return { ...judgement, rows }
    },
  }
}

export function mailsOf(smtp: Pick<SmtpServer, 'mails'>): readonly Arrival[] {
  return smtp.mails.map(({ data, to, at }) => {
    const text = data.toString('latin1')
    return {
      channel: 'email',
      to: to[0] ?? '',
      code: CODE.exec(text)?.[0] ?? '',
      id: /^Message-ID: <(\w+)@/im.exec(text)?.[1],
      at,
    }
  })
}

function smsOf(twilio: Pick<TwilioServer, 'messages'>): readonly Arrival[] {
  return twilio.messages.map(({ to, body, at }) => ({
    channel: 'sms',
    to,
    code: CODE.exec(body)?.[0] ?? '',
    id: undefined,
    at,
  }))
}

/** Live messages of a running service, as its metrics say. */
export async function backlogOf(adminUrl: string): Promise<number> {
  const { body } = await request(`${adminUrl}/metrics`)
  const text = await body.text()
  return [...text.matchAll(/^\w*_backlog\{.*?\} (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0)
}

async function atRest(rig: ServiceRig): Promise<void> {
  // To be asked for all its metrics costs the service several milliseconds each time.
  while ((await backlogOf(rig.service().adminUrl)) > 0) await pause(200)
}

export function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
