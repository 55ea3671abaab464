import t from 'tap'
import type { SmtpConnection } from '../../../src/providers/smtp/connection.ts'
import { createConnectionPool } from '../../../src/providers/smtp/provider.ts'

const never = new AbortController().signal

interface FakeConnection extends SmtpConnection {
  readonly nth: number
  isOpen: boolean
  closed: number
}

function openPool(max: number) {
  const made: FakeConnection[] = []
  const pool = createConnectionPool(() => {
    const connection: FakeConnection = {
      nth: made.length + 1,
      isOpen: false,
      closed: 0,
      send: async () => ({ is: 'sent', reply: '' }),
      close: async () => void (connection.closed += 1),
    }
    made.push(connection)
    return connection
  }, max)
  const take = async (): Promise<FakeConnection> => {
    const taken = await pool.take(never)
    if (taken === undefined) throw new Error('none was lent')
    return taken as FakeConnection
  }
  return { pool, made, take }
}

t.test(
  'a connection that stands is lent before one that was refused, and the latest of them first',
  async t => {
    const { pool, take } = openPool(4)
    const [a, b, refused] = [await take(), await take(), await take()]
    a.isOpen = true
    b.isOpen = true
    for (const each of [a, b, refused]) pool.giveBack(each)
    t.same([(await take()).nth, (await take()).nth, (await take()).nth], [2, 1, 3])
    for (const each of [refused, a, b]) pool.giveBack(each)
    b.isOpen = false
    t.equal((await take()).nth, 1, 'nor one that was lost while it was free')
  },
)

t.test('a refusal tells how many are taken, once no other is being opened', async t => {
  const { pool, take } = openPool(5)
  const [a, b, c, refused] = [await take(), await take(), await take(), await take()]
  a.isOpen = true
  t.equal(pool.countTaken(refused), undefined, 'two may be taken or not')
  b.isOpen = true
  c.isOpen = true
  t.equal(pool.countTaken(refused), 3)
  pool.stopCounting(a)
  t.equal(pool.countTaken(refused), 2, 'one that waits for its reply only is not counted')
  b.isOpen = false
  pool.giveBack(b)
  t.equal(pool.countTaken(refused), 1, 'nor is one that was lost')
})

t.test('who waits has a turn in order, and whoever leaves takes nobody’s', async t => {
  const { pool, take } = openPool(1)
  const lent = await take()
  const leaving = new AbortController()
  const turns: string[] = []
  const wait = (name: string, signal = never) =>
    pool.take(signal).then(got => turns.push(got === undefined ? `${name} left` : name))
  const all = [wait('first'), wait('second', leaving.signal), wait('third'), wait('fourth')]
  leaving.abort()
  await all[1]
  for (let n = 0; n < 3; n += 1) {
    pool.giveBack(lent)
    await new Promise(resolve => setImmediate(resolve))
  }
  await Promise.all(all)
  t.same(turns, ['second left', 'first', 'third', 'fourth'])
})

t.test('in the place of one that is not counted another is lent at once', async t => {
  const { pool, made, take } = openPool(1)
  const slow = await take()
  const waiting = pool.take(never)
  pool.stopCounting(slow)
  t.equal(await waiting, made[1])
  const next = pool.take(never)
  pool.giveBack(slow)
  t.equal(made[0]?.closed, 1, 'one more than are lent at a time is closed')
  pool.giveBack(made[1] as FakeConnection)
  t.equal(await next, made[1])
})

t.test('closing sends away whoever waits, and closes each connection', async t => {
  const { pool, made, take } = openPool(1)
  const lent = await take()
  const waiting = [pool.take(never), pool.take(never)]
  await pool.close()
  t.same(await Promise.all(waiting), [undefined, undefined])
  pool.giveBack(lent)
  t.equal(await pool.take(never), undefined, 'nor is any lent afterwards')
  t.equal(made.length, 1)
  t.equal(lent.closed, 1)
})

t.test('closing twice is closing once, and both are told when it is done', async t => {
  const { pool, take } = openPool(1)
  const lent = await take()
  const done = Promise.withResolvers<void>()
  lent.close = () => {
    lent.closed += 1
    return done.promise
  }
  let ended = 0
  const both = [pool.close(), pool.close()].map(async each => each.then(() => (ended += 1)))
  await new Promise(resolve => setImmediate(resolve))
  t.equal(ended, 0)
  done.resolve()
  await Promise.all(both)
  t.equal(lent.closed, 1)
})
