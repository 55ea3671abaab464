import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Below Linux's ephemeral ports, from which other tests' callers and servers take theirs at any moment. */
const FIRST_PORT = 10_000
const LAST_PORT = 32_000

const given = new Set<number>()

/** A port of this machine that nobody listens on now, and that nobody gets who asks for any port. */
export function freePort(): Promise<number> {
  const port = randomInt(FIRST_PORT, LAST_PORT)
  if (given.has(port)) return freePort()
  return new Promise(resolve => {
    const server = createServer().once('error', () => resolve(freePort()))
    server.listen(port, '127.0.0.1', () => {
      given.add(port)
      server.close(() => resolve(port))
    })
  })
}
