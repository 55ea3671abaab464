import { createServer } from 'node:net'

/** `port` when nobody listens there on this machine, else 0: any free one. */
export function usualOrFreePort(port: number): Promise<number> {
  return new Promise(resolve => {
    const probe = createServer()
    probe.once('error', () => resolve(0))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(port)))
  })
}
