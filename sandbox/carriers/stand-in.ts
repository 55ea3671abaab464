import { callbackKinds } from '../../src/messages/kinds.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import type { SelfSigned } from '../certificate.ts'
import type { ReceivedMail } from './smtp/inbox.ts'

/** A way to misbehave, for trying what the service makes of it. */
export interface NamedFault<Fault> {
  /** For the page's list. */
  readonly title: string
  /** Null: works as it should. */
  readonly fault: Fault | null
}

/** The same names in every stand-in: `none`, and those of its provider's outcomes that it plays. */
export type NamedFaults<Fault> = Readonly<Record<string, NamedFault<Fault>>>

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

/** How a provider's stand-in is started and shown: `standIn` in `carriers/NAME/stand-in.ts`. */
export interface StandInModule {
  /** For people. */
  readonly title: string
  readonly faults: NamedFaults<unknown>
  start(options: StandInOptions): Promise<StandIn>
}
