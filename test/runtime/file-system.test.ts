import { join } from 'node:path'
import t from 'tap'
import { nearestExisting, passingFileSystem } from '../../src/runtime/file-system.ts'

t.test('a folder that is not there yet is on the file system of the nearest above it', async t => {
  const there = t.testdir({ a: {} })
  t.same([join(there, 'a'), join(there, 'b', 'c'), '/no/such/folder'].map(nearestExisting), [
    join(there, 'a'),
    there,
    '/',
  ])
  t.equal(passingFileSystem('/dev/shm/no/such'), process.platform === 'linux' ? 'tmpfs' : null)
})
