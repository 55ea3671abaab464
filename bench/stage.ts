import type { Child } from './child.ts'
import { startChild } from './child.ts'
import { createNumbers } from './distinct.ts'
import {
  type Certificate,
  makeCertificate,
  type Service,
  type ServiceOptions,
  startService,
} from './service.ts'
import type { Received } from './sinks/tally.ts'

export type Channel = 'email' | 'sms'

/** What all measures share: both sinks, the numbers of the run, and what has been answered 0. */
export interface Stage {
  readonly rounds: number
  readonly seconds: number
  readonly certificate: Certificate
  readonly sinks: Readonly<Record<Channel, Child>>
  readonly ports: Readonly<Record<Channel, number>>
  readonly numbers: ReturnType<typeof createNumbers>
  readonly say: (line: string) => void
  service(options?: Pick<ServiceOptions, 'env' | 'prepare'>): Promise<Service>
  /** Ends all services that run. */
  stopServices(): Promise<void>
  /**
   * Waits until the sink has every message of the range, then looks at what it got in the whole run.
   * @throws when one was lost, doubled or wrong.
   */
  arrived(channel: Channel, from: number, to: number): Promise<void>
}

/** How long a message may be on its way when its callback has been answered. */
const ARRIVAL_MS = 10_000

export async function openStage(options: {
  readonly rounds: number
  readonly seconds: number
  readonly say: (line: string) => void
}): Promise<{ readonly stage: Stage; close(): Promise<void> }> {
  const certificate = await makeCertificate()
  const [email, sms] = await Promise.all([
    startChild('./sinks/smtp.ts'),
    startChild('./sinks/twilio.ts', { TLS_KEY: certificate.key, TLS_CERT: certificate.cert }),
  ])
  const sinks = { email, sms }
  const ports = { email: await email.ask<number>({ is: 'port' }), sms: await sms.ask<number>({ is: 'port' }) }
  const services: Service[] = []
  const stage: Stage = {
    ...options,
    certificate,
    sinks,
    ports,
    numbers: createNumbers(),
    async service(extra = {}) {
      const service = await startService({
        certificate,
        smtpPort: ports.email,
        twilioPort: ports.sms,
        ...extra,
      })
      services.push(service)
      return service
    },
    async stopServices() {
      await Promise.all(services.splice(0).map(async service => service.stop()))
    },
    async arrived(channel, from, to) {
      const asked = [[from, to]]
      const until = performance.now() + ARRIVAL_MS
      let got = await sinks[channel].ask<Received>({ is: 'received', asked })
      while (got.missing && performance.now() < until) {
        await new Promise(resolve => setTimeout(resolve, 50))
        got = await sinks[channel].ask<Received>({ is: 'received', asked })
      }
      const { missing, doubled, wrong } = got
      if (missing || doubled || wrong)
        throw new Error(
          `${channel}: of ${to - from + 1} messages ${missing} lost; in all ${doubled} doubled, ${wrong} wrong`,
        )
    },
  }
  return {
    stage,
    async close() {
      await stage.stopServices()
      await Promise.all([email.stop(), sms.stop()])
    },
  }
}
