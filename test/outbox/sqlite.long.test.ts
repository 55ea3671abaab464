import t from 'tap'
import { outboxContract } from './contract.ts'
import { createStores } from './sqlite-stores.ts'

t.testdir({})

// As the service runs it: each store in a thread of its own.
await outboxContract(t, 'sqlite', createStores(t.testdirName), { numRuns: 60 })
