import { createWriteStream, existsSync } from 'node:fs'
import { unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { loadSomeSettings } from '../config/config.ts'
import { type Sentence, say } from '../language/sentence.ts'
import { callService } from './ask-service.ts'
import { type Command, failWith, readArguments, writeLine } from './command.ts'

export const backup: Command = async (argv, io) => {
  const [file = ''] = readArguments(argv, {}, { least: 1, most: 1 }).positionals
  const fail = (why: Sentence) => failWith(io, say('no backup: {why}', { why }))
  const { DATABASE_URL: store, STORE_SECRET: secret } = loadSomeSettings(io, ['DATABASE_URL', 'STORE_SECRET'])
  if (store?.kind === 'postgres')
    return fail(
      say(
        'the store is Postgres, which has tools of its own: pg_dump --format=custom --file=FILE, or the backups of your database; docs/replicas.md says what to do after a restore',
      ),
    )
  const exists = say('{file} exists: name a new file', { file })
  if (existsSync(file)) return fail(exists)
  const called = await callService(io, '/backup', { method: 'POST' })
  if ('why' in called)
    return fail(
      called.status === null
        ? say('{why}; while it does not run, the store’s files can be copied as they are', called)
        : called.why,
    )
  try {
    const copy = Readable.fromWeb(called.response.body ?? new Blob([]).stream())
    await pipeline(copy, createWriteStream(file, { flags: 'wx', mode: 0o600 }))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    // Somebody else made it meanwhile: it is theirs, and stays.
    if (code === 'EEXIST') return fail(exists)
    await unlink(file).catch(() => {})
    return fail(say('{file} cannot be written ({why})', { file, why: message }))
  }
  const apart =
    secret === undefined
      ? join(dirname(store?.path ?? ''), 'store.secret')
      : say('the value of {setting}', { setting: 'STORE_SECRET' })
  const written = say(
    '{file} is written. Keep {secret} apart from it: what waits can be read with it alone.',
    { file, secret: apart },
  )
  writeLine(io, 'stdout', written)
  return 0
}
