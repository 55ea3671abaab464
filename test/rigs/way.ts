import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/**
 * Opens a way to a Postgres rig that can be cut without either side being told, as by a switch that lost its power.
 * @param alter changes what is asked of the server, in latin1 and as long as it was.
 */
export async function openWay(t: Test, url: string, alter = (asked: string) => asked) {
  const target = join(new URL(url).searchParams.get('host') ?? '', '.s.PGSQL.5432')
  const directory = await mkdtemp(join(tmpdir(), 'way-'))
  const open = new Set<Socket>()
  let isCut = false
  let swallows = false
  const server = createServer(client => {
    const upstream = connect(target)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket)
      if (isCut) socket.pause()
      socket.on('data', data => {
        if (swallows && socket === client && data.includes('COMMIT')) upstream.pause()
        other.write(socket === client ? Buffer.from(alter(data.toString('latin1')), 'latin1') : data)
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
    /** From now on no answer comes of a connection once it has asked for a commit, whether that happens or not. */
    swallowCommits() {
      swallows = true
    },
    /** Everything passes again, what was held back too. */
    mend() {
      isCut = false
      swallows = false
      for (const socket of open) socket.resume()
    },
  }
}
