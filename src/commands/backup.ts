import { createWriteStream, existsSync } from 'node:fs'
import { unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { loadSomeSettings } from '../config/config.ts'
import { adminAddress } from '../config/sources.ts'
import { type Command, type ExitCode, type Io, readArguments } from './command.ts'

export const backup: Command = {
  usage: `callback-courier backup FILE

  Copies the embedded store of the running service into FILE, while it works on. FILE must not exist. The secret is not
  in it: STORE_SECRET, or store.secret beside the store, belongs to the copy, and is kept apart from it.
  To restore it on any machine: put FILE in the store's place (DATABASE_URL) with the same secret, and start the service.
`,
  async run(argv, io) {
    const { positionals } = readArguments(argv, {}, { least: 1, most: 1 })
    return backUp(positionals[0] ?? '', io)
  },
}

async function backUp(file: string, io: Io): Promise<ExitCode> {
  const fail = (why: string): ExitCode => {
    io.stderr.write(`no backup: ${why}\n`)
    return 1
  }
  const settings = loadSomeSettings(io, ['DATABASE_URL', 'STORE_SECRET', 'ADMIN_TOKEN', 'ADMIN_TOKENS'])
  const { DATABASE_URL: store, ADMIN_TOKEN, ADMIN_TOKENS } = settings
  if (store?.kind === 'postgres')
    return fail(
      'the store is Postgres, which has tools of its own: pg_dump --format=custom --file=FILE, or the backups of your database; docs/replicas.md says what to do after a restore',
    )
  if (existsSync(file)) return fail(`${file} exists: name a new file`)
  const token = ADMIN_TOKEN ?? [...(ADMIN_TOKENS ?? [])][0]?.[1]
  const url = `${adminAddress(io)}/backup`
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const response = await fetch(url, { method: 'POST', headers }).catch(() => null)
  if (response === null)
    return fail(
      `nobody answers at ${url}: start the service; while it does not run, the store's files can be copied as they are`,
    )
  if (response.status !== 200 || response.body === null)
    return fail(`${url} says ${response.status}: ${(await response.text()).trim()}`)
  try {
    await pipeline(Readable.fromWeb(response.body), createWriteStream(file, { flags: 'wx', mode: 0o600 }))
  } catch (error) {
    await unlink(file).catch(() => {})
    return fail(`${file} cannot be written (${error instanceof Error ? error.message : 'unknown fault'})`)
  }
  const secret =
    settings.STORE_SECRET === undefined
      ? join(dirname(store?.path ?? ''), 'store.secret')
      : 'the value of STORE_SECRET'
  io.stdout.write(`${file} is written. Keep ${secret} apart from it: what waits can be read with it alone.\n`)
  return 0
}
