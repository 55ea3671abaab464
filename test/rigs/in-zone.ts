import type { Test } from 'tap'

/** Puts the process into a zone until the test ends. */
export function inZone(t: Test, zone: string): void {
  const { TZ } = process.env
  t.teardown(() => {
    if (TZ === undefined) delete process.env['TZ']
    else process.env['TZ'] = TZ
  })
  process.env['TZ'] = zone
}
