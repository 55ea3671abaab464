import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import t from 'tap'
import {
  createUnauthenticatedConnections,
  networkOf,
} from '../../src/callback/unauthenticated-connections.ts'

/** A connection from an address, as far as it is looked at. */
function from(remoteAddress: string, remotePort: number): Socket & { readonly destroyed: boolean } {
  const socket = Object.assign(new EventEmitter(), {
    remoteAddress,
    remotePort,
    destroyed: false,
    destroy() {
      socket.destroyed = true
      socket.emit('close')
    },
  })
  return socket as unknown as Socket
}

t.test('when full, the source that holds most loses its oldest', async t => {
  const connections = createUnauthenticatedConnections(6)
  const all = [
    from('203.0.113.9', 1),
    from('2001:db8:7::1', 1),
    from('2001:db8:7:ffff::2', 2),
    from('192.0.2.1', 1),
    from('192.0.2.77', 2),
    from('192.0.2.1', 3),
  ]
  for (const socket of all) connections.add(socket)
  const gone = () => all.map(({ destroyed }, at) => (destroyed ? at : -1)).filter(at => at >= 0)
  connections.add(from('198.51.100.1', 1))
  t.same(gone(), [3], 'three of one /24: the oldest of them, not the oldest of all')
  connections.add(from('198.51.100.2', 2))
  t.same(gone(), [1, 3], 'two each: the source that came first; an IPv6 source is a /48')
  const newcomers = [from('198.51.100.3', 3), from('198.51.100.4', 4)]
  for (const socket of newcomers) connections.add(socket)
  t.same(gone(), [1, 3], 'who makes its own source the largest is its own source’s matter')
  t.notOk(
    newcomers.some(({ destroyed }) => destroyed),
    'and the newest of it stay',
  )
  t.equal(connections.count(), 6)
})

t.test('a flood from one source evicts nobody else; its own oldest go first', async t => {
  const connections = createUnauthenticatedConnections(10)
  const quiet = ['203.0.113.1', '2001:db8::1', '::ffff:198.51.100.1'].map(address => from(address, 1))
  for (const socket of quiet) connections.add(socket)
  const noisy = Array.from({ length: 1000 }, (_, port) => from('::ffff:192.0.2.1', port))
  for (const socket of noisy) connections.add(socket)
  t.notOk(quiet.some(({ destroyed }) => destroyed))
  t.same(
    noisy.filter(({ destroyed }) => !destroyed).map(({ remotePort }) => remotePort),
    [993, 994, 995, 996, 997, 998, 999],
  )
  t.equal(connections.count(), 10)
})

t.test('one network is one source, however its addresses are written', async t => {
  for (const [groups, network, addresses] of [
    [3, '2001:db8:0', ['2001:db8::1', '2001:db8:0:1::1', '2001:DB8::5:0:0:1']],
    [4, '2001:db8:5:0', ['2001:db8:5::1', '2001:db8:5:0:1:2:3:4']],
    [4, '0:0:0:0', ['::1', '0:0:0:0::2']],
    [4, '192.0.2', ['::ffff:192.0.2.1', '192.0.2.77']],
  ] as const)
    for (const address of addresses) t.equal(networkOf(address, { octets: 3, groups }), network, address)
})

t.test('of two sources that have most, the other is the largest once one has fewer', async t => {
  const connections = createUnauthenticatedConnections(4)
  const all = ['192.0.2.1', '192.0.2.2', '198.51.100.1', '198.51.100.2'].map(address => from(address, 1))
  for (const socket of all) connections.add(socket)
  all[0]?.destroy()
  connections.add(from('203.0.113.1', 1))
  connections.add(from('203.0.114.1', 1))
  t.same(
    all.map(({ destroyed }) => destroyed),
    [true, false, true, false],
  )
})

t.test('any order of comings and goings is counted right', async t => {
  const connections = createUnauthenticatedConnections(20)
  let open: (Socket & { readonly destroyed: boolean })[] = []
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 48_271) % (2 ** 31 - 1)
    return seed % below
  }
  for (let n = 0; n < 2000; n += 1) {
    const any = open[random(Math.max(open.length, 1))]
    const act = random(10)
    if (any !== undefined && act < 2) any.destroy()
    else if (any !== undefined && act === 3) connections.markAuthenticated(any)
    else if (any !== undefined && act === 4) connections.attribute(any, () => `192.0.${random(4)}.1`)
    else {
      const socket = from(`198.51.${random(6)}.1`, n)
      open.push(socket)
      connections.add(socket)
    }
    open = open.filter(socket => !socket.destroyed && !connections.isAuthenticated(socket))
    if (connections.count() !== open.length || open.length > 20)
      t.fail(`${connections.count()} of ${open.length}`)
  }
  t.ok(open.length > 10)
})

t.test('who has shown the key, or has closed, holds no place', async t => {
  const connections = createUnauthenticatedConnections(2)
  const known = from('192.0.2.1', 1)
  connections.add(known)
  connections.markAuthenticated(known)
  const closed = from('192.0.2.1', 2)
  connections.add(closed)
  closed.destroy()
  t.equal(connections.count(), 0)
  for (let port = 3; port < 9; port += 1) connections.add(from('192.0.2.1', port))
  t.notOk(known.destroyed)
  t.ok(connections.isAuthenticated(known))
  t.equal(connections.count(), 2)
  const again = from('192.0.2.1', 8)
  connections.add(again)
  t.equal(connections.count(), 2, 'a port that is used again is one connection')
})

t.test("a proxy's connections count among those of the callers it speaks for", async t => {
  const connections = createUnauthenticatedConnections(4)
  const proxied = Array.from({ length: 4 }, (_, port) => from('10.0.0.1', port))
  for (const [at, socket] of proxied.entries()) {
    connections.add(socket)
    connections.attribute(socket, () => (at === 0 ? '203.0.113.1' : `192.0.2.${at}`))
  }
  connections.add(from('10.0.0.1', 9))
  t.same(
    proxied.map(({ destroyed }) => destroyed),
    [false, true, false, false],
    "the proxy's oldest is a quiet caller's; it goes for the noisy one's oldest",
  )
  connections.attribute(proxied[1] as Socket, () => '203.0.113.1')
  t.equal(connections.count(), 4, 'one that is gone is not brought back')
})

t.test(
  'connections of the platform are behind when they have come in every turn for a second, and then sooner',
  async t => {
    let port = 0
    let now = 0
    const open = () => createUnauthenticatedConnections(10, () => now)
    /** One connection in every turn of the event loop, of 10 ms. @returns after how many ms they were behind. */
    const come = async (
      connections: ReturnType<typeof createUnauthenticatedConnections>,
      showsKey: (n: number) => boolean,
      mostMs: number,
    ) => {
      const began = now
      for (let n = 0; now - began < mostMs && !connections.isBehind(); n += 1) {
        const socket = from('192.0.2.1', (port += 1))
        connections.add(socket)
        if (showsKey(n)) connections.markAuthenticated(socket)
        socket.destroy()
        now += 10
        await new Promise(setImmediate)
      }
      return now - began
    }
    const connections = open()
    const first = await come(connections, () => true, 5000)
    t.ok(first >= 1000 && first <= 1020, `${first} ms`)
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    t.notOk(connections.isBehind(), 'a turn without one')
    const again = await come(connections, n => n % 2 === 0, 1000)
    t.ok(again >= 200 && again <= 220, `${again} ms`)
    const strangers = open()
    await come(strangers, n => n % 3 === 0, 1100)
    t.notOk(strangers.isBehind(), 'most are strangers')
    const stopped = open()
    await come(stopped, () => true, 20)
    now += 1100
    await come(stopped, () => true, 20)
    t.notOk(stopped.isBehind(), 'the process stood still')
  },
)
