import type { Socket } from 'node:net'
import t from 'tap'
import { createDescriptors } from '../../src/callback/descriptors.ts'

/** A connection with this descriptor, or a closed one, as far as it is looked at. */
function connection(fd: number | null) {
  const _handle = fd === null ? null : { fd }
  const socket = { _handle, destroyed: false, destroy: () => void (socket.destroyed = true) }
  return socket as unknown as Socket
}

t.test(
  'the last descriptors are kept for the store and probes, and some before them for refusals',
  async t => {
    let now = 0
    const descriptors = createDescriptors(400, () => now)
    for (const [fd, isSpare, isHungUpOn] of [
      [null, false, false],
      [335, false, false],
      [336, true, false],
      [395, true, false],
      [396, true, true],
    ] as const) {
      const socket = connection(fd)
      t.equal(descriptors.isSpare(socket), isSpare, `${fd}`)
      descriptors.note(socket)
      t.equal(socket.destroyed, isHungUpOn, `${fd}`)
      t.equal(descriptors.areShort(), isSpare, `${fd}`)
    }
    now = 1999
    t.ok(descriptors.areShort())
    now = 2000
    t.notOk(descriptors.areShort())
  },
)

t.test('strangers have half of the room; where there is little, a quarter is spare', async t => {
  t.equal(createDescriptors(400, () => 0).forStrangers, 168)
  t.equal(createDescriptors(100, () => 0).forStrangers, 37)
})
