import twilio from 'twilio'
import { answerParent } from '../child.ts'
import { runLoop } from '../loop.ts'
import { codeOf, phoneOf } from '../numbered-callbacks.ts'

/** A bare loop over the stock Twilio SDK, as it comes: its own HTTPS agent of 20 connections. */
const client = twilio('AC00000000000000000000000000000000', 'bench-token', {
  ca: process.env['TLS_CERT'] ?? '',
})
client.api.baseUrl = process.env['TWILIO_URL'] ?? ''

answerParent(async question => {
  let number = question['first'] as number
  const loop = await runLoop(question['width'] as number, question['seconds'] as number, async () => {
    const of = number++
    await client.messages.create({
      to: phoneOf(of),
      from: '+15005550006',
      body: `Bench: your code is ${codeOf(of)}. It is valid for 10 minutes.`,
      validityPeriod: 600,
    })
  })
  return { ...loop, last: number - 1 }
})
