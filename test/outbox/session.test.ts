import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { type Client, createConnections } from '../../src/outbox/postgres/connect.ts'
import { requireOwnSessions } from '../../src/outbox/postgres/migrate.ts'

t.test('at the start two connections are asked in turns for their sessions, four times each', async t => {
  /** @param answers of both, the first one's first, then the other one's, and so on. */
  const start = async (answers: readonly number[]) => {
    const left = [...answers]
    const client = { query: async () => ({ rows: [{ id: left.shift() }] }) } as unknown as Client
    await requireOwnSessions({ use: work => work(client) })
    return left
  }
  t.same(await start([1, 2, 2, 1, 1, 2, 2, 1]), [])
  for (const answers of [
    [1, 1, 1, 1, 1, 1, 1, 1],
    [1, 2, 2, 1, 1, 2, 2, 3],
    [1, 2, 4, 1, 1, 2, 2, 1],
    // A pooler that goes round two servers
    [1, 2, 1, 2, 1, 2, 1, 2],
  ])
    await t.rejects(start(answers), {
      name: 'StoreUnusable',
      message:
        /^a pooler in front of the database lends sessions by the transaction: set its pool_mode to session/,
    })
  await t.rejects(requireOwnSessions({ use: () => Promise.reject(new Error('away')) }), { message: 'away' })
})

/** Connections to a database that answers the first words so, and nothing after. */
async function openConnections(t: Test, limitMs: number, says = '', monotonic = () => 0) {
  const sockets: Socket[] = []
  const server = createServer(socket => {
    sockets.push(socket.on('error', () => {}))
    socket.once('data', () => socket.write(says))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const connections = createConnections({
    url: `postgres://courier@127.0.0.1:${(server.address() as AddressInfo).port}/courier`,
    statementTimeoutMs: limitMs,
    connectTimeoutMs: limitMs,
    max: 1,
    random: () => 0.5,
    monotonic,
    log: () => {},
  })
  t.teardown(connections.close)
  return { connections, sockets }
}

t.test('no session is lent before it has its settings', async t => {
  // AuthenticationOk and ReadyForQuery.
  const says = 'R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I'
  const { connections } = await openConnections(t, 50, says)
  await t.rejects(
    connections.use(async () => t.fail('it was lent')),
    { message: /timeout/ },
  )
})

t.test(
  'a database that takes a connection and says nothing: the call ends, and those of up to 2 s after it fail at once',
  async t => {
    let now = 0
    const { connections, sockets } = await openConnections(t, 20, '', () => now)
    const use = () => connections.use(async () => 'lent')
    const message = 'the database could not be reached just now'
    for (const [tries, rest] of [50, 100, 200, 400, 800, 1600, 2000, 2000].entries()) {
      await t.rejects(use(), { message: /timeout/ })
      now += rest - 1
      await t.rejects(use(), { name: 'StoreUnavailable', message })
      t.equal(sockets.length, tries + 1)
      now += 1
    }
  },
)
