import net from 'node:net'
import tls from 'node:tls'

/** Bytes over TLS, as an attacker writes them. */
export type Raw = ReturnType<typeof record>

/** Opens TLS to a listener, taking any certificate: this is not about ours. Rejects when it is refused. */
export async function openRaw(url: string): Promise<Raw> {
  const { hostname, port, protocol } = new URL(url)
  const socket =
    protocol === 'https:'
      ? tls.connect({ host: hostname, port: Number(port), rejectUnauthorized: false })
      : net.connect({ host: hostname, port: Number(port) })
  const raw = record(socket)
  await new Promise<void>((resolve, reject) => {
    socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', () => resolve())
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('closed')))
  })
  return raw
}

/** The same before TLS: a bare TCP connection. */
export function openTcp(url: string): Raw {
  const { hostname, port } = new URL(url)
  return record(net.connect({ host: hostname, port: Number(port) }))
}

function record(socket: net.Socket) {
  const chunks: Buffer[] = []
  let closed = false
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', () => {})
  socket.once('close', () => {
    closed = true
  })
  const text = () => Buffer.concat(chunks).toString('latin1')
  return {
    socket,
    /** All that came back so far, as Latin-1. */
    text,
    write: (bytes: string | Buffer) => void (socket.destroyed || socket.write(bytes)),
    /** Resolves with `text` once the far end has closed. */
    ended: () =>
      new Promise<string>(resolve => {
        if (closed) resolve(text())
        else socket.once('close', () => resolve(text()))
      }),
    /** Resolves once what came back matches. */
    says: (pattern: RegExp) =>
      new Promise<string>((resolve, reject) => {
        const end = () => reject(new Error(`never said ${pattern}: ${text().slice(0, 200)}`))
        const look = () => {
          if (!pattern.test(text())) return
          socket.off('data', look).off('close', end)
          resolve(text())
        }
        socket.on('data', look).once('close', end)
        look()
        if (closed) end()
      }),
  }
}
