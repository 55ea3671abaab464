#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

/**
 * The command line of what is never in the image: `npm run sandbox` and `npm run emulate`.
 * The first argument, `emulate`, chooses the emulator alone.
 */
const cache = join(import.meta.dirname, '..', 'node_modules', '.cache', 'callback-courier')
enableCompileCache(cache)
// The store's thread finds it in the environment. Nothing is loaded before it is on.
process.env['NODE_COMPILE_CACHE'] ??= cache
await import('../src/runtime/v8-flags.ts')

const ending = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort())
// A reader that has seen enough, such as `head`, is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

const [first, ...rest] = process.argv.slice(2)
const { languageOfTerminal } = await import('../src/language/choose.ts')
const language = languageOfTerminal(process.env)
const io = { stdout: process.stdout, stderr: process.stderr, signal: ending.signal, language }
async function runCommand(): Promise<number> {
  if (first === 'emulate') return (await import('./emulator/command.ts')).runEmulateCommand(rest, io)
  return (await import('./command.ts')).runSandboxCommand(process.argv.slice(2), io)
}
process.exit(await runCommand())
