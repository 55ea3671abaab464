import net from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

/** Opens bare TCP connections at a rate, from a thread of its own, and never says a byte on them. */
export interface ConnectorOrder {
  readonly url: string
  readonly perSecond: number
  /** Addresses of this machine that they come from, in turn. */
  readonly from: readonly string[]
}

function connect({ url, perSecond, from }: ConnectorOrder): () => number {
  const { hostname: host, port } = new URL(url)
  const began = performance.now()
  let opened = 0
  let connected = 0
  setInterval(() => {
    const due = Math.floor(((performance.now() - began) * perSecond) / 1000)
    // Not more at once than an attacker's machine would have open: this one must not run out of ports.
    for (let n = 0; opened < due && n < 200; n += 1) {
      const socket = net.connect({ host, port: Number(port), localAddress: from[opened % from.length] })
      socket.on('connect', () => (connected += 1))
      socket.on('error', () => {})
      socket.resume()
      opened += 1
    }
  }, 2)
  return () => Math.round((connected * 1000) / (performance.now() - began))
}

if (parentPort !== null) {
  const perSecond = connect(workerData as ConnectorOrder)
  parentPort.once('message', () => {
    // The rate that was reached.
    parentPort?.postMessage(perSecond(), [])
    process.exit(0)
  })
}
