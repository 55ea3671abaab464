import { answerParent } from '../child.ts'
import { codeOf } from '../numbered-callbacks.ts'
import { startSmtpSink } from './smtp-sink.ts'
import { createTally } from './tally.ts'

/**
 * A mail server that counts mails by their number. `LATENCY_MS`, and later the question `latency`, say how long it waits
 * before it accepts one.
 */
const tally = createTally()
let last: Buffer | undefined
let latencyMs = Number(process.env['LATENCY_MS'] ?? 0)

const port = await startSmtpSink(
  (recipient, message) => {
    const number = Number(/^reader\.(\d{8})@/.exec(recipient)?.[1] ?? 0)
    tally.count(number, message.includes(codeOf(number)))
    last = message
  },
  what => (what === 'message' ? latencyMs : 0),
)

answerParent(question => {
  if (question.is === 'port') return port
  if (question.is === 'latency') {
    latencyMs = question['ms'] as number
    return latencyMs
  }
  if (question.is === 'last') return last?.toString('latin1') ?? ''
  return tally.received(question['asked'] as [number, number][])
})
