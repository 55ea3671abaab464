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
  const passes = createFrameGuard(() => now)
  const [large, small] = [frames(0, 300, 200), frames(0, 20, 40)]
  for (let second = 0; second < 2000; second += 1) {
    now += 1000
    if (!passes(large) || !passes(small)) t.fail(`second ${second}`)
    // PING, SETTINGS, WINDOW_UPDATE and an answer to a heartbeat.
    for (const type of [6, 4, 8, 1]) if (!passes(frames(type, 8))) t.fail(`type ${type}`)
  }
  t.ok(passes(frames(0, 16_384, 100)))
})

t.test('many frames that say little are a flood, wherever they are cut', async t => {
  for (const size of [1, 7, 9, 1000, 1_000_000]) {
    const passes = createFrameGuard(() => 0)
    const bytes = frames(6, 8, 9000)
    let at = 0
    for (; at < bytes.length && passes(bytes.subarray(at, at + size)); at += size);
    t.equal(
      Math.floor(Math.min(at, bytes.length - 1) / 17),
      size === 1_000_000 ? 0 : 8000,
      `in pieces of ${size}`,
    )
  }
  t.notOk(createFrameGuard(() => 0)(frames(0, 1, 11_000)))
  t.ok(createFrameGuard(() => 0)(frames(0, 1, 9000)), 'an object may come byte by byte for a while')
  t.notOk(createFrameGuard(() => 0)(frames(12, 16_000, 25)), 'few that are large')
})

t.test('what is allowed comes back with time, and is not saved up', async t => {
  let now = 0
  const passes = createFrameGuard(() => now)
  t.ok(passes(frames(4, 0, 9900)))
  now += 20_000
  t.ok(passes(frames(4, 0, 1000)))
  t.notOk(passes(frames(4, 0, 200)))
  const rested = createFrameGuard(() => now)
  now += 3_600_000
  t.ok(rested(frames(0, 16_384, 100)))
  t.notOk(rested(frames(4, 0, 10_100)))
})
