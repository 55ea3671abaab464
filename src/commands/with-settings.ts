import { ConfigError } from '../config/config.ts'
import type { Command } from './command.ts'

/** Lets a command throw ConfigError: what is wrong with the settings is then written to stderr, and it fails. */
export function withSettings(run: Command['run']): Command['run'] {
  return async (argv, io) => {
    try {
      return await run(argv, io)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      io.stderr.write(`${error.message}\n`)
      return 1
    }
  }
}
