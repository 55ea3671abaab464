import { createCertificate, type SelfSigned } from '../sandbox/certificate.ts'
import type { Child } from './child.ts'
import { startChild } from './child.ts'
import { createNumbers } from './numbered-callbacks.ts'
import { type Service, type ServiceOptions, startService } from './service.ts'
import type { Received } from './sinks/tally.ts'

export type Channel = 'email' | 'sms'

/** What all measures share: both sinks and the numbers of the run's callbacks. */
export interface Session {
  readonly rounds: number
  readonly seconds: number
  /** Another checkout of the service. */
  readonly beside?: string | undefined
  readonly certificate: SelfSigned
  readonly sinks: Readonly<Record<Channel, Child>>
  readonly ports: Readonly<Record<Channel, number>>
  readonly numbers: ReturnType<typeof createNumbers>
  readonly print: (line: string) => void
  startService(options?: Pick<ServiceOptions, 'env' | 'prepare' | 'program'>): Promise<Service>
  /** Ends all services that run. */
  stopServices(): Promise<void>
  /**
   * Waits until the sink has every message of the range, then checks all that it got in the run.
   * @throws when one was lost, doubled or wrong.
   */
  waitForArrival(channel: Channel, from: number, to: number): Promise<void>
}

/** How long a message may take to arrive after its callback was answered, ms. */
const ARRIVAL_MS = 10_000

export async function openSession(options: {
  readonly rounds: number
  readonly seconds: number
  readonly beside?: string | undefined
  readonly print: (line: string) => void
}): Promise<{ readonly session: Session; close(): Promise<void> }> {
  const certificate = await createCertificate(Date.now())
  const [email, sms] = await Promise.all([
    startChild('./sinks/smtp.ts'),
    startChild('./sinks/twilio.ts', { TLS_KEY: certificate.key, TLS_CERT: certificate.cert }),
  ])
  const sinks = { email, sms }
  const ports = { email: await email.ask<number>({ is: 'port' }), sms: await sms.ask<number>({ is: 'port' }) }
  const services: Service[] = []
  const session: Session = {
    ...options,
    certificate,
    sinks,
    ports,
    numbers: createNumbers(),
    async startService(extra = {}) {
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
    async waitForArrival(channel, from, to) {
      const asked = [[from, to]]
      let until = performance.now() + ARRIVAL_MS
      let received = await sinks[channel].ask<Received>({ is: 'received', asked })
      while (received.missing && performance.now() < until) {
        await new Promise(resolve => setTimeout(resolve, 50))
        const { missing } = received
        received = await sinks[channel].ask<Received>({ is: 'received', asked })
        // A slow provider takes a backlog for as long as it needs: what still arrives is not lost.
        if (received.missing < missing) until = performance.now() + ARRIVAL_MS
      }
      const { missing, doubled, wrong } = received
      if (missing || doubled || wrong)
        throw new Error(
          `${channel}: of ${to - from + 1} messages ${missing} lost; in all ${doubled} doubled, ${wrong} wrong`,
        )
    },
  }
  return {
    session,
    async close() {
      await session.stopServices()
      await Promise.all([email.stop(), sms.stop()])
    },
  }
}
