import PostalMime from 'postal-mime'
import type { Content, NewMessage } from '../../src/messages/message.ts'
import { createRenderer, type Renderer, type RendererOptions } from '../../src/words/render.ts'

/** A renderer with settings that tests share. */
export function rendererFor(options: Partial<RendererOptions> = {}): Renderer {
  return createRenderer({
    brand: { name: 'Northwind', url: 'https://northwind.example', color: '#1f5fd0' },
    locale: 'en',
    mail: { from: 'Northwind <no-reply@northwind.example>', messageIdDomain: 'northwind.example' },
    sms: {},
    ...options,
  })
}

/** A message on its way, of any kind. */
export function messageOf(
  channel: 'email' | 'sms',
  kind: string,
  content: Partial<Content> = {},
  rest: Partial<NewMessage> = {},
): NewMessage {
  const arrivedAt = Date.UTC(2026, 0, 2, 3, 4, 5)
  return {
    id: 'abcdef0123456789abcdef0123456789',
    channel,
    kind,
    purpose: 'code',
    recipient: channel === 'email' ? 'reader@example.org' : '+12025550123',
    masked: '***',
    destination: '',
    content: { params: {}, words: 'ours', ...(channel === 'email' && { subject: 'Subject' }), ...content },
    arrivedAt,
    expiresAt: arrivedAt + 600_000,
    ...rest,
  }
}

/** The bytes of a finished mail. */
export function rawOf(renderer: Renderer, message: NewMessage): Buffer {
  const outgoing = renderer.render(message)
  if (outgoing.channel !== 'email') throw new Error('not a mail')
  return outgoing.raw
}

/** The text of a finished SMS. */
export function smsOf(renderer: Renderer, message: NewMessage): string {
  const outgoing = renderer.render(message)
  if (outgoing.channel !== 'sms') throw new Error('not an SMS')
  return outgoing.text()
}

/** A finished mail as a mail client reads it. */
export async function readMail(raw: Buffer) {
  const mail = await PostalMime.parse(raw)
  const header = (name: string) =>
    mail.headers.filter(({ key }) => key === name.toLowerCase()).map(({ value }) => value)
  // Line ends of the text parts are CRLF on the way.
  return { ...mail, header, html: mail.html ?? '', text: mail.text ?? '' }
}
