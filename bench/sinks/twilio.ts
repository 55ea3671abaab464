import type { AddressInfo } from 'node:net'
import tls from 'node:tls'
import { answerParent } from '../child.ts'
import { codeOf } from '../numbered-callbacks.ts'
import { createTally } from './tally.ts'

/**
 * Answers Twilio's `POST …/Messages.json` over TLS as fast as it can and counts the messages. It reads of HTTP what the
 * SDK's requests need. The question `latency` sets how long it waits before it answers, as Twilio does.
 */
let latencyMs = 0
const tally = createTally()
let made = 0

const identity = { key: process.env['TLS_KEY'] ?? '', cert: process.env['TLS_CERT'] ?? '' }
const server = tls.createServer({ ...identity, noDelay: true }, socket => {
  let unread = ''
  socket.on('error', () => {})
  socket.on('data', (chunk: Buffer) => {
    unread += chunk.toString('latin1')
    let answers = ''
    for (;;) {
      const head = unread.indexOf('\r\n\r\n')
      if (head < 0) break
      const length = Number(/content-length: *(\d+)/i.exec(unread.slice(0, head))?.[1] ?? 0)
      if (unread.length < head + 4 + length) break
      const form = unread.slice(head + 4, head + 4 + length)
      unread = unread.slice(head + 4 + length)
      answers += answer(form)
    }
    if (!answers) return
    if (latencyMs > 0) setTimeout(() => socket.write(answers), latencyMs)
    else socket.write(answers)
  })
})

function answer(form: string): string {
  const digits = /(?:^|&)To=%2B86138(\d{8})(?:&|$)/.exec(form)?.[1] ?? ''
  const number = Number(digits)
  const text = /(?:^|&)Body=([^&]*)/.exec(form)?.[1] ?? ''
  tally.count(number, text.includes(codeOf(number)))
  made += 1
  const sid = `SM${made.toString(16).padStart(32, '0')}`
  const body = JSON.stringify({
    account_sid: 'AC00000000000000000000000000000000',
    api_version: '2010-04-01',
    body: 'your code',
    date_created: 'Thu, 24 Aug 2023 05:01:45 +0000',
    date_sent: null,
    date_updated: 'Thu, 24 Aug 2023 05:01:45 +0000',
    direction: 'outbound-api',
    error_code: null,
    error_message: null,
    from: '+15005550006',
    messaging_service_sid: null,
    num_media: '0',
    num_segments: '1',
    price: null,
    price_unit: 'USD',
    sid,
    status: 'queued',
    subresource_uris: {
      media: `/2010-04-01/Accounts/AC00000000000000000000000000000000/Messages/${sid}/Media.json`,
    },
    to: `+86138${digits}`,
    uri: `/2010-04-01/Accounts/AC00000000000000000000000000000000/Messages/${sid}.json`,
  })
  return `HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: keep-alive\r\n\r\n${body}`
}

server.listen(0, '127.0.0.1', () => {
  answerParent(question => {
    if (question.is === 'port') return (server.address() as AddressInfo).port
    if (question.is === 'latency') {
      latencyMs = question['ms'] as number
      return latencyMs
    }
    return tally.received(question['asked'] as [number, number][])
  })
})
