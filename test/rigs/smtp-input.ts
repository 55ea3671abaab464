import type net from 'node:net'

/** Reading ends by rejecting with this when the connection does. */
export const GONE = new Error('the connection is gone')

export interface Input {
  /** The next line without its CRLF. A bare LF does not end a line. */
  line(): Promise<string>
  /** Everything up to and with the line that is a single dot. */
  message(): Promise<Buffer>
  /** Hands the socket over to TLS. */
  release(): net.Socket
}

export function createInput(socket: net.Socket, record: Buffer[]): Input {
  let held = Buffer.alloc(0)
  let ended = false
  let wake: (() => void) | undefined
  const onData = (chunk: Buffer): void => {
    record.push(chunk)
    held = Buffer.concat([held, chunk])
    wake?.()
  }
  const onEnd = (): void => {
    ended = true
    wake?.()
  }
  socket.on('data', onData)
  socket.once('end', onEnd)
  socket.once('close', onEnd)

  async function take(lengthOf: (held: Buffer) => number): Promise<Buffer> {
    for (;;) {
      const length = lengthOf(held)
      if (length > 0) {
        const taken = held.subarray(0, length)
        held = held.subarray(length)
        return taken
      }
      if (ended) throw GONE
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  }
  return {
    line: async () =>
      (await take(bytes => bytes.indexOf('\r\n') + 2 * Number(bytes.includes('\r\n'))))
        .toString('latin1')
        .slice(0, -2),
    message: () =>
      take(bytes => {
        if (bytes.subarray(0, 3).toString('latin1') === '.\r\n') return 3
        const dot = bytes.indexOf('\r\n.\r\n')
        return dot < 0 ? 0 : dot + 5
      }),
    release() {
      socket.off('data', onData)
      socket.off('end', onEnd)
      return socket
    },
  }
}
