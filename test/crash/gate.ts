import { flushCompileCache } from 'node:module'

/**
 * Loaded before the service (`node --import`): loads all that it will need, then waits for a word from its parent.
 * So the next process can get ready while the last one still holds the store, and a loop takes less than a second.
 */
await Promise.all([
  import('../../src/commands/run.ts'),
  import('../../src/service/service.ts'),
  import('../../src/outbox/sqlite/outbox.ts'),
  import('../../src/providers/twilio-sdk.ts'),
  import('twilio'),
])
// Node writes it at the end of a process; these are killed.
flushCompileCache()
process.send?.('ready')
await new Promise(resolve => process.once('message', resolve))
process.disconnect()
