import { parentPort, workerData } from 'node:worker_threads'
import { collectGarbageWhenIdle } from '../../runtime/garbage.ts'
import { serveStore } from './serve-store.ts'
import type { StoreSettings } from './store.ts'

if (parentPort === null) throw new Error('runs as a worker thread only')
serveStore(parentPort, workerData as StoreSettings)
collectGarbageWhenIdle('store')
