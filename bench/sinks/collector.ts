import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerParent } from '../child.ts'

/** Takes traces (OTLP over HTTP) as fast as it can, and counts the octets. */
let octets = 0
const server = createServer((request, response) => {
  request.on('data', (chunk: Buffer) => {
    octets += chunk.length
  })
  request.on('end', () => response.end('{}'))
})
server.listen(0, '127.0.0.1', () => {
  answerParent(({ is }) => (is === 'port' ? (server.address() as AddressInfo).port : octets))
})
