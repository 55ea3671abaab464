import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'
import {
  awaitStatements,
  beginTransaction,
  type Client,
  commitTransaction,
  createConnections,
  runStatement,
  statement,
} from '../../src/outbox/postgres/connect.ts'
import { createSessionGuard, requireOwnSessions } from '../../src/outbox/postgres/session.ts'

const SHARED = 'a pooler in front of the database lends sessions by the transaction'

/** A session that answers with the mark that it was given last, or with another one. */
function session() {
  const state = { mark: '', looks: 0 }
  const query = async (text: string) => {
    const [, given] = /SET courier\.session = '(\w+)'/.exec(text) ?? []
    state.mark = given ?? state.mark
    if (given === undefined) state.looks += 1
    return { rows: [{ mark: state.mark }] }
  }
  return Object.assign(state, { client: { query } as unknown as Client })
}

function guarded() {
  const state = { at: 0, log: [] as string[] }
  const log = ({ doing, message }: { readonly doing: string; readonly message: string }) =>
    void state.log.push(`${doing}: ${message}`)
  return Object.assign(
    state,
    createSessionGuard(() => state.at, 5000, log),
  )
}

t.test('a session that is another one is noticed, said once, and forgiven after a while', async t => {
  const guard = guarded()
  const [one, other] = [session(), session()]
  for (const { client } of [one, other]) await guard.setUp(client, 1000)
  t.match(one.mark, /^[0-9a-f]{16}$/)
  t.not(one.mark, other.mark)
  await guard.verify(one.client)
  guard.requireMark(other.client, other.mark)
  t.equal(guard.trouble(), null)
  for (const [at, lines] of [
    [1000, 1],
    [5999, 1],
    [10_999, 2],
  ] as const) {
    guard.at = at
    t.throws(() => guard.requireMark(one.client, other.mark), { name: 'StoreUnavailable', message: SHARED })
    t.same(guard.log, Array(lines).fill(`keep a session: ${SHARED}`))
    t.equal(guard.trouble(), SHARED)
  }
  guard.at = 15_998
  t.equal(guard.trouble(), SHARED)
  guard.at = 15_999
  t.equal(guard.trouble(), null)
  one.mark = 'of somebody else'
  await t.rejects(guard.verify(one.client), StoreUnavailable)
})

t.test('at the start two sessions are looked at in turns, four times each', async t => {
  const guard = guarded()
  const [one, other] = [session(), session()]
  for (const { client } of [one, other]) await guard.setUp(client, 1000)
  const start = () => {
    const free = [one.client, other.client]
    return requireOwnSessions({ use: work => work(free.shift() as Client) }, guard)
  }
  await start()
  t.same([one.looks, other.looks], [4, 4])
  await t.rejects(
    requireOwnSessions({ use: () => Promise.reject(new Error('away')) }, guard),
    { message: 'away' },
    'which is no pooler',
  )
  other.mark = one.mark
  await t.rejects(start(), {
    name: 'StoreUnusable',
    message: `${SHARED}: set its pool_mode to session, or name the database itself in DATABASE_URL`,
  })
})

t.test('what is asked in one go leaves in one write, and a commit that was a rollback is none', async t => {
  const asked: unknown[] = []
  const writes = { corked: 0, uncorked: 0 }
  let command = 'COMMIT'
  const stream = {
    get writableCorked() {
      return writes.corked - writes.uncorked
    },
    cork: () => void (writes.corked += 1),
    uncork: () => void (writes.uncorked += 1),
  }
  const query = async (each: unknown) => {
    asked.push(each)
    return { command: String(each) === 'COMMIT' ? command : 'SELECT' }
  }
  const client = { connection: { stream }, query } as unknown as Client
  const [first, second] = [statement`SELECT ${1}, '\\d'`, statement`SELECT $1`]
  t.same([first.text, second.text], ["SELECT 1, '\\d'", 'SELECT $1'])
  t.not(first.name, second.name, 'a name means one statement')
  const results = await commitTransaction(client, beginTransaction(client), runStatement(client, second, 7))
  t.same(writes, { corked: 1, uncorked: 1 })
  t.same(asked, [
    'BEGIN; SET LOCAL synchronous_commit = on',
    { name: second.name, text: 'SELECT $1', values: [7] },
    'COMMIT',
  ])
  t.equal(results.length, 3)
  await turn()
  await beginTransaction(client, false)
  t.equal(asked.at(-1), 'BEGIN; SET LOCAL synchronous_commit = off')
  command = 'ROLLBACK'
  await t.rejects(commitTransaction(client), { message: 'the transaction was rolled back' })
  const [cause, rest] = [Promise.reject(new Error('the cause')), Promise.reject(new Error('for that'))]
  await t.rejects(awaitStatements(Promise.resolve(1), cause, rest), { message: 'the cause' })
})

/** Connections to a database that answers the first words so, and nothing after. */
async function openConnections(t: Test, guard: ReturnType<typeof guarded>, limitMs: number, says = '') {
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
    guard,
    // However busy this machine is, the next call comes before the wait is over.
    random: () => 1e6,
    log: () => {},
  })
  t.teardown(connections.close)
  return { connections, sockets }
}

t.test('no session is lent before it is set up', async t => {
  const log: string[] = []
  const setUp = async () => {
    await new Promise(resolve => setTimeout(resolve, 50))
    log.push('set up')
  }
  // AuthenticationOk and ReadyForQuery.
  const says = 'R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I'
  const { connections } = await openConnections(t, { ...guarded(), setUp }, 30_000, says)
  await connections.use(async () => log.push('lent'))
  t.same(log, ['set up', 'lent'])
})

t.test(
  'a database that takes a connection and says nothing: the call ends, and the next one fails at once',
  async t => {
    const guard = guarded()
    const { connections, sockets } = await openConnections(t, guard, 50)
    const use = () => connections.use(async () => 'lent')
    await t.rejects(use(), { message: /timeout/ })
    await t.rejects(use(), {
      name: 'StoreUnavailable',
      message: 'the database could not be reached just now',
    })
    t.equal(sockets.length, 1)
    t.throws(() => guard.requireMark({}, 'of another'), StoreUnavailable)
    await t.rejects(use(), { message: SHARED }, 'nor is one lent that is not ours')
  },
)
