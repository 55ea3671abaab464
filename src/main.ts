#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

// Node opens its debugger to every user of the machine at this signal, unless somebody listens for it; the debugger could read every secret.
process.on('SIGUSR1', () => {})

// Reading and compiling the sources is most of a start, so the compiled code is cached for the next one. The cache is beside the
// dependencies: whoever can write there could change the code itself. Where the service may not write there, it has no cache, or the
// one made with the image. Nothing is loaded before the cache is on, hence the imports below; the store's thread finds it in the environment.
const cache = join(import.meta.dirname, '..', 'node_modules', '.cache', 'callback-courier')
enableCompileCache(cache)
process.env['NODE_COMPILE_CACHE'] ??= cache
await import('./runtime/v8-flags.ts')
await import('./runtime/lean-http.ts')
const { runCommand } = await import('./commands/run.ts')

const ending = new AbortController()
const argv = process.argv.slice(2)
// `ddq` has a connection to put away. `serve` sees to its own signals, and the rest may just be interrupted.
if (argv[0] === 'ddq')
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort())
// `callback-courier urls | head -1` is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

const code = await runCommand(argv, {
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  readFile: path => readFileSync(path, 'utf8'),
  dotenvPath: '.env',
  setZone: zone => {
    process.env['TZ'] = zone
  },
  signal: ending.signal,
})
process.exit(code)
