import { Buffer } from 'node:buffer'
import t from 'tap'
import { createFrameGuard } from '../../src/devices/frame-guard.ts'

function frames(type: number, length: number, times = 1): Buffer {
  const frame = Buffer.alloc(9 + length)
  frame.writeUIntBE(length, 0, 3)
  frame[3] = type
  return Buffer.concat(Array(times).fill(frame))
}

t.test('what a server says that has something to say goes through, for as long as it likes', async t => {
  let now = 0
  const guard = createFrameGuard(() => now)
  for (let second = 0; second < 2000; second += 1) {
    now += 1000
    t.equal(guard.check(frames(0, 300, 200)) ?? guard.check(frames(0, 20, 40)), null)
    // PING, SETTINGS, WINDOW_UPDATE and an answer to a heartbeat.
    for (const type of [6, 4, 8, 1]) if (guard.check(frames(type, 8)) !== null) t.fail(`type ${type}`)
  }
  t.equal(guard.check(frames(0, 16_384, 100)), null)
})

t.test('many frames that say little are a flood, wherever they are cut', async t => {
  for (const size of [1, 7, 9, 1000, 1_000_000]) {
    const guard = createFrameGuard(() => 0)
    const bytes = frames(6, 8, 1500)
    let fault: string | null = null
    let at = 0
    for (; at < bytes.length && fault === null; at += size) fault = guard.check(bytes.subarray(at, at + size))
    t.match(fault, /PING/, `in pieces of ${size}`)
    t.ok(at >= 17 * 900)
  }
  t.match(createFrameGuard(() => 0).check(frames(0, 1, 11_000)), /DATA/)
  t.equal(
    createFrameGuard(() => 0).check(frames(0, 1, 9000)),
    null,
    'an object may come byte by byte for a while',
  )
  t.match(createFrameGuard(() => 0).check(frames(12, 16_000, 20)), /ORIGIN/, 'few that are large')
  t.match(createFrameGuard(() => 0).check(frames(0, 16_385)), /too long/)
})

t.test('what is allowed comes back with time', async t => {
  let now = 0
  const guard = createFrameGuard(() => now)
  t.equal(guard.check(frames(6, 8, 900)), null)
  now += 20_000
  t.equal(guard.check(frames(6, 8, 900)), null)
  t.match(guard.check(frames(6, 8, 200)), /PING/)
})

t.test('what was not used for long is not saved up', async t => {
  let now = 0
  const guard = createFrameGuard(() => now)
  now += 3_600_000
  t.match(guard.check(frames(6, 8, 1100)), /PING/)
  const large = createFrameGuard(() => 0)
  t.equal(large.check(frames(0, 16_384, 100)), null)
  t.match(large.check(frames(0, 1, 11_000)), /DATA/)
})
