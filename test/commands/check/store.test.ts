import { pino } from 'pino'
import t from 'tap'
import { checkStore } from '../../../src/commands/check/machine.ts'
import type { Config } from '../../../src/config/config.ts'
import { quote } from '../../../src/language/sentence.ts'
import type { Outbox } from '../../../src/outbox/outbox.ts'
import { createClock } from '../../../src/runtime/clock.ts'
import { openOutbox, openStoreKeys } from '../../../src/service/factories.ts'
import { enough, load } from '../../config/settings.ts'
import { linesOf } from './lines.ts'

t.test('a database that nobody answers at is said, though a service runs on another store', async t => {
  const DATABASE_URL = 'postgres://courier:secret@127.0.0.1:1/courier'
  const config = load({ ...enough, DATABASE_URL, STORE_SECRET: 'a-long-random-text-of-ones-own' })
  const log = pino({ level: 'silent' })
  const open = async () => openOutbox(config, createClock(), await openStoreKeys(config), log)
  const [line = ''] = linesOf(await checkStore(config, open, null))
  t.match(line, /^fail store: .*→/)
  t.notMatch(line, 'secret@')
})

t.test('a store that cannot be made is no start', async t => {
  const opened = () => Promise.reject(new Error('it is not there'))
  // Where root may not write either; and below a file.
  for (const folder of ['/proc/sys', '/etc/hostname']) {
    const config = load({ ...enough, DATABASE_URL: `file:${folder}/data/outbox.db` })
    const [line = ''] = linesOf(await checkStore(config, opened, undefined))
    t.ok(
      line.startsWith(`fail store: ${folder}/data/outbox.db cannot be made: ${folder} is no folder, or`),
      line,
    )
    t.match(line, /→ make it wri/)
  }
})

t.test('a store that opens: whether it commits, what it lacks, and it is let go of', async t => {
  const seen: string[] = []
  const opening = (commits: boolean, messages = 0) =>
    Promise.resolve({
      queries: { probeCommit: async () => commits },
      loss: () => (messages === 0 ? null : { messages }),
      close: async () => void seen.push('closed'),
    } as unknown as Outbox)
  const said = async (kind: 'file' | 'postgres', unready: string | undefined, ...has: [boolean, number?]) =>
    linesOf(
      await checkStore(
        {
          DATABASE_URL: kind === 'file' ? { kind, path: import.meta.filename } : { kind },
        } as Config,
        () => opening(...has),
        unready && quote(unready),
      ),
    )
  t.same(await said('file', undefined, true), ['ok store: opens and commits'])
  t.match(await said('file', undefined, true, 3), [/^warn store: opens and commits, but lacks 3 messages/])
  t.match(await said('file', undefined, false, 3), [/^fail store: opens, but cannot commit/])
  t.same(seen, ['closed', 'closed', 'closed'])
  const unready = /^fail store: the running service does not accept callbacks: ending/
  t.match(await said('file', 'ending', true), [unready])
  t.equal((await said('file', 'ending', true)).length, 1, 'the service holds it')
  t.match(await said('postgres', 'ending', true), [unready, /^ok store/])
})
