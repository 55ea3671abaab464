import { join } from 'node:path'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { journalPath, readAttemptJournal } from '../../src/outbox/sqlite/attempt-journal.ts'
import { judge, readRows } from '../faults/checker.ts'
import { backlogOf, pause } from '../faults/stage.ts'
import { atRest } from './chaos.ts'
import { openGround } from './ground.ts'
import { startPlatform } from './platform.ts'
import { startReplica, untilReady } from './replica.ts'

/** It is killed when so many callbacks were answered, at most, and a moment more; or after so long, ms. */
const ANSWERS = 100
const MOMENT_MS = 30
const LOAD_MS = 2000
/** Every eighth or so is killed while it starts. */
const EARLY = 0.12
const START_MS = 1000
const SECRET = 'crash-run-store-secret-0123456789'

/** A service on SQLite that is killed so many times under load and started again; then rest, and a judgement like that of chaos. */
export async function runCrashes(loops: number, random: () => number, say: (line: string) => void) {
  const ground = await openGround(SECRET, () => random() * 25)
  const store = join(ground.directory, 'outbox.db')
  const env = { ...ground.settings(`file:${store}`), DRAIN_SECONDS: '0' }
  const service = startReplica({ env, heard: () => {} })
  let early = 0
  let journal: ReadonlyMap<string, string> | null = null
  /** At how many kills each message was being sent. */
  const begun = new Map<string, number>()
  try {
    const callers = { email: 12, sms: 6 }
    const pace = { thinkMs: 0, againMs: 20, random }
    const platform = startPlatform({ replicas: [service], ca: ground.ca, callers, ...pace })
    const underLoad = async (): Promise<void> => {
      await untilReady([service], each => each.at() !== null)
      const enough = platform.record.length + random() * ANSWERS
      const end = performance.now() + LOAD_MS
      while (platform.record.length < enough && performance.now() < end) await pause(1)
    }
    for (let loop = 1; loop <= loops; loop += 1) {
      if (loop % 10 === 0) say(`${loop} of ${loops} loops, ${platform.record.length} callbacks`)
      await untilReady([service], each => each.starts() === loop)
      const isEarly = random() < EARLY
      if (!isEarly) await underLoad()
      await pause(random() * (isEarly ? START_MS : MOMENT_MS))
      const listened = service.at() !== null
      if (!listened) early += 1
      service.kill('SIGKILL')
      await service.exited()
      // A life that ended early may have left the journal as it was.
      const before: typeof journal = listened ? null : journal
      journal = readAttemptJournal(journalPath(store))
      for (const id of journal?.keys() ?? [])
        if (before?.has(id) !== true) begun.set(id, (begun.get(id) ?? 0) + 1)
    }
    await untilReady([service])
    await platform.stop()
    await atRest(() => backlogOf(service.at()?.adminUrl ?? ''))
    await service.end()
    const rows = readRows(store)
    const { recipientHash } = createStoreKeys(SECRET)
    const answers = platform.record
    const judgement = judge({ answers, arrivals: ground.arrivals, rows, recipientHash })
    // A message that merely waited in memory when the process was killed is not ambiguous.
    const neverBegun = rows.flatMap(({ id, timeline }) => {
      const lost = timeline.filter(({ outcome }) => outcome === 'lease-lost').length
      const times = begun.get(id) ?? 0
      return lost > times ? [`${id}: ${lost} lost attempts, and it was being sent at ${times} kills`] : []
    })
    const breaches = [...judgement.breaches, ...neverBegun]
    return { ...judgement, breaches, posts: answers, early, begun: begun.size }
  } finally {
    await service.destroy()
    await ground.close()
  }
}
