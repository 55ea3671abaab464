import { type Config, ConfigError, loadConfig } from '../config/config.ts'
import type { Io } from './command.ts'

/** The settings, or null after having said on stderr what is wrong with them. */
export function readSettings(io: Io): Config | null {
  try {
    return loadConfig(io)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    io.stderr.write(`${error.message}\n`)
    return null
  }
}
