import { loadSomeSettings } from '../config/config.ts'
import { say } from '../language/sentence.ts'
import { type Command, readArguments, UsageError, writeLine } from './command.ts'

export const migrate: Command = async (argv, io) => {
  const { values } = readArguments(argv, { back: { type: 'boolean' } })
  if (values.back !== true) throw new UsageError(say('something is missing'), 'back')
  const { DATABASE_URL: store } = loadSomeSettings(io, ['DATABASE_URL'])
  if (store?.kind === 'postgres') {
    const { migrateStoreBack } = await import('../outbox/postgres/outbox.ts')
    await migrateStoreBack(store.url)
  }
  writeLine(io, 'stdout', say('the store can be taken by 1.0.0: start it'))
  return 0
}
