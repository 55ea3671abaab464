import { pino } from 'pino'
import { loadConfig } from '../config/config.ts'
import { say } from '../language/sentence.ts'
import { createClock } from '../runtime/clock.ts'
import { openOutbox, openStoreKeys } from '../service/factories.ts'
import { type Command, readArguments, writeLine } from './command.ts'

export const adopt: Command = async (argv, io) => {
  const { positionals } = readArguments(argv, {}, { least: 1, most: 1 })
  const config = loadConfig(io)
  const keys = await openStoreKeys(config)
  const silent = pino({ level: 'silent' })
  const outbox = await openOutbox(config, createClock(), keys, silent, { formerly: positionals[0] })
  await outbox.close()
  writeLine(
    io,
    'stdout',
    say('the store is now that of {corpId}: start the service', { corpId: config.CORP_ID }),
  )
  return 0
}
