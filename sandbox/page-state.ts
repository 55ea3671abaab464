import type { Channel } from '../src/messages/message.ts'
import { countSegments } from '../src/messages/sms-segments.ts'
import type { CallbackSender } from './callback-sender.ts'
import type { ReceivedMail } from './carriers/stand-in.ts'
import type { StandIns } from './stand-ins.ts'

/** The addresses that a client or a person may want. */
export interface ConnectionDetails {
  readonly corpId: string
  /** The callback URLs and Tokens, as they would be entered in the platform's console. */
  readonly urls: Readonly<Record<Channel, string>>
  readonly tokens: Readonly<Record<Channel, string>>
  /** PEM file of the service's certificate, for clients that want to verify it. */
  readonly certFile: string
  readonly adminUrl: string
  /** Null when the service has none. */
  readonly consoleUrl: string | null
  readonly carriers: StandIns['addresses']
  /** The page of the emulated platform's devices; null without one. */
  readonly devicesUrl: string | null
}

export interface PageStateOptions {
  readonly standIns: Pick<StandIns, 'mails' | 'sms'>
  readonly callbackSender: CallbackSender
  readonly about: ConnectionDetails
  /** Lines of the service's log, newest last. */
  log(): readonly string[]
}

/** Gives the state that the page shows. A mail's parts are not in it: the page asks for each mail that it opens. */
export function createPageState(options: PageStateOptions) {
  const { standIns, callbackSender, about } = options
  return () => ({
    about,
    mails: standIns.mails().map(({ id, at, subject, to, text }) => ({
      id,
      at,
      subject,
      to,
      preview: text.replace(/\s+/g, ' ').trim().slice(0, 140),
    })),
    sms: standIns
      .sms()
      .slice(-200)
      .map(sms => ({ ...sms, ...countSegments(sms.body) })),
    callbacks: callbackSender.sent(),
    log: options.log().slice(-200),
  })
}

export function mailDetails({ raw, html, ...mail }: ReceivedMail) {
  return { ...mail, hasHtml: html !== '', bytes: raw.length, source: raw.toString('utf8') }
}
