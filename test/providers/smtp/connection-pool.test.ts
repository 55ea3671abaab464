import t from 'tap'
import type { SmtpConnection } from '../../../src/providers/smtp/connection.ts'
import { createConnectionPool } from '../../../src/providers/smtp/provider.ts'

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
  const take = (): FakeConnection => {
    const taken = pool.take()
    if (taken === undefined) throw new Error('none was lent')
    return taken as FakeConnection
  }
  return { pool, made, take }
}

t.test(
  'a connection that stands is lent before one that was refused, and the latest of them first',
  async t => {
    const { pool, take } = openPool(4)
    const [a, b, refused] = [take(), take(), take()]
    a.isOpen = true
    b.isOpen = true
    for (const each of [a, b, refused]) pool.giveBack(each)
    t.same([take().nth, take().nth, take().nth], [2, 1, 3])
    for (const each of [refused, a, b]) pool.giveBack(each)
    b.isOpen = false
    t.equal(take().nth, 1, 'nor one that was lost while it was free')
  },
)

t.test('a refusal tells how many are taken, once no other is being opened', async t => {
  const { pool, take } = openPool(5)
  const [a, b, c, refused] = [take(), take(), take(), take()]
  a.isOpen = true
  t.equal(pool.countTaken(refused), undefined, 'two may be taken or not')
  b.isOpen = true
  c.isOpen = true
  t.equal(pool.countTaken(refused), 3)
  b.isOpen = false
  pool.giveBack(b)
  t.equal(pool.countTaken(refused), 2, 'one that was lost is not counted')
})

t.test('more are lent than are kept, and none once it is closed', async t => {
  const { pool, made, take } = openPool(1)
  const [kept, surplus] = [take(), take()]
  pool.giveBack(surplus)
  pool.giveBack(kept)
  t.match(made, [{ closed: 0 }, { closed: 1 }])
  t.equal(take(), kept)
  await pool.close()
  t.equal(kept.closed, 1)
  t.equal(pool.take(), undefined)
})

t.test('closing twice is closing once, and both are told when it is done', async t => {
  const { pool, take } = openPool(1)
  const lent = take()
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
