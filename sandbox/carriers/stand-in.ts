import { randomBytes } from 'node:crypto'
import { callbackKinds } from '../../src/messages/kinds.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import type { SelfSigned } from '../certificate.ts'
import type { CarrierFault } from './api-server.ts'

/** A way to misbehave, for trying what the service makes of it. */
export interface NamedFault<Fault> {
  /** For the page's list. */
  readonly title: string
  /** Null: works as it should. */
  readonly fault: Fault | null
}

/** The same names in every stand-in: `none`, and those of its provider's outcomes that it plays. */
export type NamedFaults<Fault> = Readonly<Record<string, NamedFault<Fault>>>

/** A mail as the inbox took it: what the envelope said, what the bytes say, and the bytes. */
export interface ReceivedMail {
  /** Counts from 1 in the order of arrival. */
  readonly id: number
  /** ms since the epoch. */
  readonly at: number
  readonly envelope: { readonly from: string; readonly to: readonly string[] }
  /** Whether the connection was encrypted, and who had logged in. */
  readonly tls: boolean
  readonly user: string | null
  readonly subject: string
  readonly messageId: string
  /** The addresses of the header, as a reader's program shows them. */
  readonly from: string
  readonly to: string
  readonly headers: readonly { readonly name: string; readonly value: string }[]
  readonly text: string
  readonly html: string
  readonly raw: Buffer
}

/** An SMS as a stand-in took it. */
export interface ReceivedSms {
  readonly id: string
  /** ms since the epoch. */
  readonly at: number
  readonly from: string
  readonly to: string
  readonly body: string
  /** Seconds; null when none was given; absent where there is no such thing. */
  readonly validityPeriod?: number | null
}

/** A running server that the service takes for its provider's. */
interface StandInBase {
  readonly url: string
  /** The settings that make the service use it. */
  readonly settings: Readonly<Record<string, string>>
  /** @param name one of its faults. */
  setFault(name: string): void
  /** Forgets what arrived. */
  clear(): void
  close(): Promise<void>
}

/** How the sandbox sends SMS by the stand-in of a carrier. */
export interface SandboxRoute {
  /** Numbers of this country go by it first. */
  readonly country: string
  /** A number there, of which the last two digits may be any. */
  readonly number: string
  /** It is asked behind the first one of its country, and nowhere else. */
  readonly isSecond?: true
  /** The kinds that it has templates for, as its part of SMS_TEMPLATES_FILE; absent: it sends text. */
  readonly templates?: Readonly<Record<string, unknown>>
}

/** Newest mail first; oldest SMS first. */
export type StandIn = StandInBase &
  (
    | { readonly channel: 'email'; mails(): readonly ReceivedMail[] }
    | { readonly channel: 'sms'; readonly route: SandboxRoute; sms(): readonly ReceivedSms[] }
  )

/** The same template for each kind of code, which its words say. */
export function mapCodes(use: unknown): Readonly<Record<string, unknown>> {
  const codes = callbackKinds.filter(({ channel, purpose }) => channel === 'sms' && purpose === 'code')
  return Object.fromEntries(codes.map(({ name }) => [name, use]))
}

export interface StandInOptions {
  readonly certificate: SelfSigned
  readonly clock: Clock
  /** Called when something arrived. */
  readonly changed: () => void
}

/** How a provider's stand-in is started and shown: `standIn` in `carriers/NAME.ts`. */
export interface StandInModule {
  /** For people. */
  readonly title: string
  readonly faults: NamedFaults<unknown>
  start(options: StandInOptions): Promise<StandIn>
}

const MOST_KEPT = 200

/** The latest SMS that a carrier's stand-in took, and the fault that it was told to show. */
export interface SmsInbox {
  add(sms: ReceivedSms): void
  fault(): CarrierFault | undefined
  /** The stand-in, once its server listens; closing it closes the server. */
  serve(
    server: { listen(): Promise<{ readonly port: number }>; close(): Promise<void> },
    describe: (url: string) => Pick<Extract<StandIn, { channel: 'sms' }>, 'settings' | 'route'>,
  ): Promise<StandIn>
}

/** @param changed is called when something arrived. */
export function createSmsInbox(faults: NamedFaults<CarrierFault>, changed: () => void): SmsInbox {
  let received: readonly ReceivedSms[] = []
  let fault: CarrierFault | null = null
  return {
    add(sms) {
      received = [...received, sms].slice(-MOST_KEPT)
      changed()
    },
    fault: () => fault ?? undefined,
    async serve(server, describe) {
      const { port } = await server.listen()
      const url = `http://127.0.0.1:${port}`
      return {
        channel: 'sms',
        url,
        ...describe(url),
        sms: () => received,
        setFault(name) {
          fault = faults[name]?.fault ?? null
        },
        clear() {
          received = []
        },
        close: () => server.close(),
      }
    },
  }
}

/** 32 random characters; the last one is no digit, because a Token is followed by a timestamp when it is signed. */
export function randomSecret(): string {
  return `${randomBytes(24).toString('base64url').slice(0, 31)}T`
}
