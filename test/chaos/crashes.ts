import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { readRows } from '../faults/checker.ts'
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

/** The messages whose attempts had begun when the process was killed. They are read from a copy: it is being started again. */
function readMarked(store: string): ReadonlySet<string> {
  for (const end of ['', '-wal'])
    if (existsSync(`${store}${end}`)) copyFileSync(`${store}${end}`, `${store}-copy${end}`)
  const db = new DatabaseSync(`${store}-copy`)
  try {
    const marked = "SELECT id FROM messages WHERE state = 'sending' AND begun = 1 AND lease_until > 0"
    const isMade = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'messages'").get() !== undefined
    return new Set(
      isMade
        ? db
            .prepare(marked)
            .all()
            .map(({ id }) => String(id))
        : [],
    )
  } finally {
    db.close()
  }
}

/** A service on SQLite that is killed so many times under load and started again; then rest, and a judgement like that of chaos. */
export async function runCrashes(loops: number, random: () => number, say: (line: string) => void) {
  const ground = await openGround(() => random() * 25)
  const store = join(ground.directory, 'outbox.db')
  const env = { ...ground.settings(`file:${store}`), DRAIN_SECONDS: '0' }
  const service = startReplica({ env, heard: () => {} })
  let early = 0
  let marked: ReadonlySet<string> = new Set()
  /** At how many kills each message was being sent. */
  const begun = new Map<string, number>()
  try {
    const callers = { email: 12, sms: 6 }
    const pace = { thinkMs: 0, againMs: 20, random }
    const platform = startPlatform({ replicas: [service], ca: ground.pem.cert, callers, ...pace })
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
      // A life that ended early may have left the marks as they were.
      const before: typeof marked = listened ? new Set() : marked
      marked = readMarked(store)
      for (const id of marked) if (!before.has(id)) begun.set(id, (begun.get(id) ?? 0) + 1)
    }
    await untilReady([service])
    await platform.stop()
    await atRest(() => backlogOf(service.at()?.adminUrl ?? ''))
    await service.end()
    const rows = readRows(store)
    const judgement = ground.judge(platform.record, rows)
    // A message that merely waited in memory when the process was killed is not ambiguous.
    const neverBegun = rows.flatMap(({ id, timeline }) => {
      const lost = timeline.filter(({ outcome }) => outcome === 'lease-lost').length
      const times = begun.get(id) ?? 0
      return lost > times ? [`${id}: ${lost} lost attempts, and it was being sent at ${times} kills`] : []
    })
    const breaches = [...judgement.breaches, ...neverBegun]
    return { ...judgement, breaches, posts: platform.record, early, begun: begun.size }
  } finally {
    await service.destroy()
    await ground.close()
  }
}
