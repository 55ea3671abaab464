import { type Config, ConfigError, loadConfig } from '../config/config.ts'
import type { Io } from './command.ts'

/** Reads the settings; null when something is wrong with them, which is then written to stderr. */
export function readSettings(io: Io): Config | null {
  try {
    return loadConfig(io)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    io.stderr.write(`${error.message}\n`)
    return null
  }
}
