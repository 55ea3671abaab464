#!/usr/bin/env node
import '../src/runtime/v8-flags.ts'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { runSandboxCommand } from './command.ts'
import { runEmulateCommand } from './emulator/command.ts'

/**
 * The command line of what is never in the image: `npm run sandbox` and `npm run emulate`.
 * The first argument, `emulate`, chooses the emulator alone.
 */
enableCompileCache(join(import.meta.dirname, '..', 'node_modules', '.cache', 'callback-courier'))

const ending = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort())
// A reader that has seen enough, such as `head`, is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

const [first, ...rest] = process.argv.slice(2)
const io = { stdout: process.stdout, stderr: process.stderr, signal: ending.signal }
process.exit(
  await (first === 'emulate' ? runEmulateCommand(rest, io) : runSandboxCommand(process.argv.slice(2), io)),
)
