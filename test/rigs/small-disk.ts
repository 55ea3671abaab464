import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** Mounts a disk of so many megabytes, to fill, until the end of the test. @returns `skip`: why there is none. */
export function mountSmallDisk(
  t: Test,
  megabytes: number,
): { readonly disk: string; readonly skip: string | false } {
  if (process.getuid?.() !== 0) return { disk: '', skip: 'only root may mount a small disk to fill' }
  const disk = mkdtempSync(join(tmpdir(), 'small-disk-'))
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', disk])
  // Lazily, as files on it may be open still; and when the process is ended in the middle of a test, too.
  const unmount = () => void (status === 0 && spawnSync('umount', ['-l', disk]))
  process.once('exit', unmount)
  t.teardown(() => {
    process.off('exit', unmount)
    unmount()
    rmSync(disk, { recursive: true })
  })
  return { disk, skip: status === 0 ? false : 'a small disk to fill cannot be mounted here' }
}
