import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A line between a client and a server of this machine, which can go silent or be cut. Knows nothing of what it carries. */
export interface Line {
  /** On 127.0.0.1; 0: any free port. Resolves with the port. */
  listen(port: number): Promise<number>
  /** Carries nothing more, in both directions, and keeps every connection open, until it is switched off again. */
  setSilent(silent: boolean): void
  /** Refuses connections, and cuts those there are, until it is switched off again. */
  setDown(down: boolean): void
  /** Cuts every connection once; how many there were. */
  cut(): number
  close(): Promise<void>
}

/** @param target port on 127.0.0.1 that the line leads to. */
export function createLine(target: () => number): Line {
  const pairs = new Set<readonly [Socket, Socket]>()
  let silent = false
  let down = false

  const server = createServer(near => {
    if (down) return void near.destroy()
    const far = connect(target(), '127.0.0.1')
    const pair = [near, far] as const
    pairs.add(pair)
    for (const [from, to] of [pair, [far, near] as const]) {
      from.setNoDelay()
      from.on('data', (chunk: Buffer) => {
        if (!to.write(chunk)) from.pause()
      })
      to.on('drain', () => {
        if (!silent) from.resume()
      })
      from.on('end', () => to.end())
      // Whatever ends the one side ends the other.
      from.on('error', () => to.destroy())
      from.on('close', () => {
        to.destroy()
        pairs.delete(pair)
      })
    }
    if (silent) hush(pair)
  })

  function hush(pair: readonly [Socket, Socket]): void {
    for (const socket of pair) socket.pause()
  }

  function cut(): number {
    const count = pairs.size
    for (const [near, far] of pairs) {
      near.resetAndDestroy()
      far.destroy()
    }
    return count
  }

  return {
    async listen(port) {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, '127.0.0.1', resolve)
      })
      return (server.address() as AddressInfo).port
    },
    setSilent(next) {
      silent = next
      for (const pair of pairs) {
        if (silent) hush(pair)
        else for (const socket of pair) socket.resume()
      }
    },
    setDown(next) {
      down = next
      if (down) cut()
    },
    cut,
    async close() {
      cut()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
