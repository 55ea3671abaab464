import { languageOfTerminal } from '../language/choose.ts'
import { runService } from '../service/process.ts'
import { type Command, readArguments } from './command.ts'

export const serve: Command = async (argv, io) => {
  readArguments(argv, {})
  return await runService(languageOfTerminal(io.env))
}
