import { readdirSync } from 'node:fs'
import type { Test } from 'tap'
import { runSandboxCommand } from '../../sandbox/command.ts'

/**
 * Runs the command to its end in this process, which has loaded it: as one of its own it takes two seconds more.
 * @param directory gets its temporary files
 */
export async function runHere(t: Test, directory: string, argv: readonly string[]) {
  const { TMPDIR } = process.env
  t.teardown(() => {
    if (TMPDIR === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = TMPDIR
  })
  process.env['TMPDIR'] = directory
  let out = ''
  let err = ''
  const code = await runSandboxCommand(argv, {
    stdout: { write: text => (out += text) },
    stderr: { write: text => (err += text) },
    signal: new AbortController().signal,
  })
  return { code, out, err, left: readdirSync(directory) }
}
