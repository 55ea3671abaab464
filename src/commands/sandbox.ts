import { USAGE } from '../sandbox/options.ts'
import { sandbox as playSandbox } from '../sandbox/sandbox.ts'
import type { Command } from './command.ts'

export const sandbox: Command = {
  usage: USAGE,
  run: (argv, io) => playSandbox(argv, io),
}
