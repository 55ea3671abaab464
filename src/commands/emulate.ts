import { EMULATE_USAGE, readEmulateOptions, emulate as runEmulator } from '../sandbox/emulator/command.ts'
import { type Command, UsageError } from './command.ts'

export const emulate: Command = {
  usage: EMULATE_USAGE,
  async run(argv, io) {
    await runEmulator(options(argv), io)
    return 0
  },
}

function options(argv: readonly string[]) {
  try {
    return readEmulateOptions(argv)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new UsageError(error.message)
  }
}
