import type { Emit } from '../../events/events.ts'
import { type ReaderLanguage, type Sentence, say } from '../../language/sentence.ts'
import type { Channel } from '../../messages/message.ts'
import type { QuotaLimits } from '../../messages/quotas.ts'
import type { OperatorActions } from '../../outbox/outbox.ts'
import type { Renderer } from '../../words/render.ts'
import type { ServiceView } from '../service-view.ts'
import { type Html, html } from './html.ts'

/** The answer to a test send, as a callback would be answered. */
export interface TestAnswer {
  readonly err_code: number
  readonly err_msg: string
  readonly ids: readonly string[]
}

/** Everything that the console's pages show and do. */
export interface ConsoleOptions {
  readonly view: ServiceView
  readonly actions: OperatorActions
  readonly renderer: Renderer
  readonly urls: { readonly email?: string; readonly sms?: string; readonly bounces?: string }
  /** Of carriers that do not sign their delivery reports. */
  readonly reportUrls: readonly { readonly carrier: string; readonly url: string }[]
  /** Finds the hash of a recipient that was typed in full; null: it is neither an address nor a number. */
  readonly hashOf: (typed: string) => string | null
  readonly testSend: (channel: Channel, body: Record<string, unknown> & { to: string }) => Promise<TestAnswer>
  /** A message of the channel was made due; a carrier that is left alone is tried at once. */
  readonly tryNow: (channel: Channel) => void
  readonly emit: Emit
  readonly postSignature: string
  readonly quotas: QuotaLimits
  /** In which the samples of test sends are, as messages are (LOCALE). */
  readonly sampleLanguage: ReaderLanguage
  /** Channels whose Token or key is being replaced. */
  readonly rotating: readonly Channel[]
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
      /** The page's name in the menu unless given. */
      readonly title?: Sentence
      readonly content: Html
      /** A page with it is loaded again so often, ms. */
      readonly liveMs?: number
    }
  /** 303 unless given. */
  | { readonly is: 'redirect'; readonly to: string; readonly status?: number }
  | {
      readonly is: 'file'
      readonly type: string
      readonly body: string
      /** Content-Security-Policy; the console's own unless given. */
      readonly policy?: string
    }

/** A page of the console: where it is, and how a request for it is answered. It belongs to the page in the menu whose path its own begins with. */
export interface ConsolePage {
  readonly method: 'GET' | 'POST'
  /** A pattern of Fastify's. */
  readonly path: string
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
