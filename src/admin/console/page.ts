import type { ChannelStatus } from '../../delivery/port.ts'
import type { Emit } from '../../events/events.ts'
import { type Sentence, say } from '../../language/sentence.ts'
import type { CallbackKind } from '../../messages/kinds.ts'
import type { Channel } from '../../messages/message.ts'
import type { OperatorActions, StoreLoss } from '../../outbox/outbox.ts'
import type { Certificate } from '../../tls/certificate.ts'
import type { RefusedRenewal } from '../../tls/watch.ts'
import type { WebhooksStatus } from '../../webhooks/webhooks.ts'
import type { Preview } from '../../words/gallery-page.ts'
import type { ServiceHealth } from '../service-health.ts'
import type { Status } from '../status/status.ts'
import { type Html, html } from './html.ts'

/** The state of the data subscription that device alerts come from. */
export interface DeviceAlertsStatus {
  /** False: another replica watches the devices. */
  readonly leads: boolean
  readonly subscribed: boolean
  /** How long it has been subscribed, or has not been, ms. */
  readonly forMs: number
  /** Why it last ended, or could not begin. */
  readonly lastEnd: { readonly is: string; readonly why: string } | null
  /** Topics that the platform refuses, though others come. */
  readonly refused: readonly { readonly topic: string; readonly why: string }[]
  readonly received: number
  readonly malformed: number
}

/** Everything that the console's pages show and do. */
export interface ConsoleOptions {
  readonly status: Status
  readonly actions: OperatorActions
  readonly health: ServiceHealth
  readonly channelStatus: () => readonly ChannelStatus[]
  readonly channels: readonly Channel[]
  readonly kinds: readonly CallbackKind[]
  readonly kindNames: readonly string[]
  /** Kinds whose words can be looked at. */
  readonly gallery: readonly { readonly channel: Channel; readonly name: string }[]
  readonly certificate: () => Pick<Certificate, 'expiresAt' | 'flaws' | 'chain' | 'names'> | null
  /** Says why the certificate's files are not what is served. */
  readonly renewalRefused: () => RefusedRenewal | null
  /** The loss that the store found at a start within the last day; null: none. */
  readonly storeLoss: () => StoreLoss | null
  readonly templateProblems: () => readonly string[]
  /** Templates that take longer for each mail, and what for. */
  readonly renderedInFull: () => readonly {
    readonly file: string
    readonly line: number
    readonly because: string
  }[]
  readonly locales: () => readonly string[]
  readonly previewWords: (channel: Channel, kind: string, locale: string) => Preview | null
  readonly urls: { readonly email?: string; readonly sms?: string }
  /** Finds the hash of a recipient that an operator typed; null: it is neither an address nor a number. */
  readonly recipientHash: (typed: string) => string | null
  readonly testSend: (
    channel: Channel,
    body: Record<string, unknown> & { to: string },
  ) => Promise<{ readonly err_code: number; readonly err_msg: string; readonly ids: readonly string[] }>
  /** A message of the channel was made due; a carrier that is left alone is tried at once. */
  readonly tryNow: (channel: Channel) => void
  readonly emit: Emit
  readonly postSignature: string
  readonly requiredIsSafe: () => readonly Channel[]
  /** Channels whose Token or key is being replaced. */
  readonly rotating: readonly Channel[]
  /** Null when there are no device alerts. */
  readonly deviceAlerts: () => DeviceAlertsStatus | null
  /** Null when no other machine is told. */
  readonly webhooks: () => WebhooksStatus | null
  readonly draining: () => boolean
  readonly startedAt: number
  /** ms since the epoch. */
  readonly now: () => number
}

/** How often a page that changes is loaded again by a browser with JavaScript, ms. */
export const LIVE_MS = 5000

/** Strings by name. */
export type Fields = Readonly<Record<string, string>>

export interface PageRequest {
  /** The name that the audit log gives to the person who asks. */
  readonly operator: string
  readonly params: Fields
  readonly query: Fields
  /** Of a form. */
  readonly fields: Fields
}

export type PageResponse =
  | {
      readonly is: 'page'
      /** 200 unless given. */
      readonly status?: number
      readonly title: Sentence | string
      readonly content: Html
      /** Absent: the page is not loaded again. */
      readonly liveMs?: number
    }
  /** 303 unless given. */
  | { readonly is: 'redirect'; readonly to: string; readonly status?: number }
  /** @param policy Content-Security-Policy; the console's own unless given. */
  | { readonly is: 'file'; readonly type: string; readonly body: string; readonly policy?: string }

/** A page of the console: where it is, and how a request for it is answered. */
export interface ConsolePage {
  readonly method: 'GET' | 'POST'
  /** A pattern of Fastify's. */
  readonly path: string
  /** Path of the page in the menu that this one belongs to. */
  readonly place: string
  /** The page's name in the menu; absent: it has no entry. */
  readonly menu?: Sentence
  readonly handle: (request: PageRequest, options: ConsoleOptions) => PageResponse | Promise<PageResponse>
}

/** A 404 that leads back to the page in the menu. */
export function notFound(reason: Sentence, place: string): PageResponse {
  return {
    is: 'page',
    status: 404,
    title: say('Not here'),
    content: html`<section class="card"><p>${reason}</p><p><a href="${place}">${say('Back')}</a></p></section>`,
  }
}
