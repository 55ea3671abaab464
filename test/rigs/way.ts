import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** How a server says that no transaction is open any more. */
const IDLE = Buffer.from('Z\0\0\0\x05I')

/**
 * Opens a way to a Postgres rig that can be cut without either side being told, as by a switch that lost its power.
 * @param alter changes what is asked of the server, in latin1 and as long as it was.
 */
export async function openWay(t: Test, url: string, alter = (asked: string) => asked) {
  const target = join(new URL(url).searchParams.get('host') ?? '', '.s.PGSQL.5432')
  const directory = await mkdtemp(join(tmpdir(), 'way-'))
  const open = new Set<Socket>()
  let isCut = false
  let order: { lost: boolean } | undefined
  const server = createServer(client => {
    const upstream = connect(target)
    let isSevered = false
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket)
      if (isCut) socket.pause()
      socket.on('data', data => {
        if (socket === client) {
          if (order?.lost === false && data.includes('COMMIT')) isSevered = order.lost = true
          other.write(Buffer.from(alter(data.toString('latin1')), 'latin1'))
        } else if (!isSevered) other.write(data)
        // Only once the server has said that it is done: it rolls back when its client is gone before.
        else if (data.includes(IDLE)) client.destroy()
      })
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
        other.destroy()
      })
      if (isCut) socket.pause()
    }
  })
  await new Promise<void>(resolve => server.listen(join(directory, '.s.PGSQL.5432'), resolve))
  t.teardown(async () => {
    server.close()
    for (const socket of open) socket.destroy()
    await rm(directory, { recursive: true, force: true })
  })
  const way = new URL(url)
  way.searchParams.set('host', directory)
  return {
    /** The same database by this way. */
    url: way.href,
    /** From now on nothing passes, and nothing breaks either. */
    cut() {
      isCut = true
      for (const socket of open) socket.pause()
    },
    /** The answer to the next commit gets lost, together with the connection. */
    loseNextCommit: () => (order = { lost: false }),
    /** Everything passes again, what was held back too. */
    mend() {
      isCut = false
      for (const socket of open) socket.resume()
    },
  }
}
