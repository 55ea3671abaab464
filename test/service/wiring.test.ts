import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { createServiceParts } from '../../src/service/wiring.ts'
import { enough, load } from '../config/settings.ts'
import { serveHere } from '../rigs/serve-here.ts'

t.test('what was opened is closed when the rest cannot be wired', async t => {
  const config = load({ ...enough, DATABASE_URL: `file:${join(t.testdir(), 'outbox.db')}` })
  const steps: unknown[] = []
  const made = createServiceParts({
    // A listener for other machines without a password: refused once the store is open.
    config: Object.assign(config, { ADMIN_HOST: '0.0.0.0', ADMIN_TOKENS: undefined }),
    log: pino({ level: 'silent' }),
    clock: { now: () => 0 },
    random: Math.random,
    wall: () => 0,
    certificate: () => null,
    renewalRefused: () => null,
    startStoreThread: settings =>
      serveHere(settings)
        .on('message', ({ is }) => steps.push(is))
        .on('exit', () => steps.push('exit')),
  })
  await t.rejects(made, /ADMIN_TOKENS is needed/)
  t.same([steps[0], steps.at(-1)], ['open', 'exit'])
})
