import { answerParent } from '../child.ts'
import { startSmtpSink } from './smtp-sink.ts'

/** A mail server that counts alarms by the device in their subject. */
const counts = new Map<string, number>()
let messages = 0

const port = await startSmtpSink((_recipient, message) => {
  messages += 1
  const device = /^Subject: Alarm: device (\d+)/m.exec(message.toString('latin1'))?.[1] ?? 'none'
  counts.set(device, (counts.get(device) ?? 0) + 1)
})

answerParent(({ is }) => {
  if (is === 'port') return port
  const doubled = [...counts.values()].filter(count => count > 1).length
  return { messages, devices: counts.size, doubled, nameless: counts.get('none') ?? 0 }
})
