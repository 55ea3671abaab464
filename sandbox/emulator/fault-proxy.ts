import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP proxy between a client and a server of this machine that can stop forwarding or close its connections. */
export interface FaultProxy {
  /** On 127.0.0.1; 0: any free port. Resolves with the port. */
  listen(port: number): Promise<number>
  /** While on, nothing is forwarded in either direction, and every connection stays open. */
  setSilent(silent: boolean): void
  /** While on, new connections are closed at once; switching it on resets those that are open. */
  setDown(down: boolean): void
  /** Resets every open connection and returns their number. */
  cut(): number
  close(): Promise<void>
}

/** @param target gives the port on 127.0.0.1 to which it forwards. */
export function createFaultProxy(target: () => number): FaultProxy {
  const pairs = new Set<readonly [Socket, Socket]>()
  let silent = false
  let down = false

  const server = createServer(near => {
    if (down) return void near.destroy()
    const far = connect(target(), '127.0.0.1')
    const pair = [near, far] as const
    pairs.add(pair)
    forward(near, far, () => silent)
    forward(far, near, () => silent)
    for (const socket of pair) socket.on('close', () => pairs.delete(pair))
    if (silent) pausePair(pair)
  })

  function pausePair(pair: readonly [Socket, Socket]): void {
    for (const socket of pair) socket.pause()
  }

  function cut(): number {
    const count = pairs.size
    for (const [near, far] of pairs) {
      // A reset after our own FIN fails (libuv: EINVAL), and Node 24 then neither closes the socket nor ends the process.
      if (near.writableEnded) near.destroy()
      else near.resetAndDestroy()
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
        if (silent) pausePair(pair)
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

/** Forwards one direction, as fast as it is read; when one side fails or ends, the other is closed too. */
function forward(from: Socket, to: Socket, isSilent: () => boolean): void {
  from.setNoDelay()
  from.on('data', (chunk: Buffer) => {
    if (!to.write(chunk)) from.pause()
  })
  to.on('drain', () => {
    if (!isSilent()) from.resume()
  })
  from.on('end', () => to.end())
  from.on('error', () => to.destroy())
  from.on('close', () => to.destroy())
}
