import type { Evidence, Judgement } from '../faults/checker.ts'
import type { Answered } from '../faults/driver.ts'
import { pause } from '../faults/stage.ts'
import { openPostgres, type PostgresRig } from '../rigs/postgres.ts'
import { openGround } from './ground.ts'
import { startPlatform } from './platform.ts'
import { type Replica, startReplica, untilReady } from './replica.ts'
import { lookInto } from './rows.ts'

/** Something that befalls the replicas or their database, so many seconds after the load began. */
export type Blow =
  /** SIGKILL; its orchestrator starts it again. */
  | { readonly at: number; readonly is: 'kill'; readonly replica: number }
  /** SIGTERM, as in a rolling update; it is started again. */
  | { readonly at: number; readonly is: 'replace'; readonly replica: number }
  /** SIGSTOP, and SIGCONT after so many seconds. */
  | { readonly at: number; readonly is: 'stop'; readonly replica: number; readonly seconds: number }
  /** `pg_ctl restart -m immediate`. */
  | { readonly at: number; readonly is: 'crash' }

export interface ChaosOptions {
  readonly seconds: number
  readonly blows: readonly Blow[]
  readonly random: () => number
  readonly say: (line: string) => void
  readonly callers?: Readonly<Record<'email' | 'sms', number>>
}

export interface Findings extends Judgement {
  /** Callbacks that were posted, answers of every kind and none included. */
  readonly posts: readonly Answered[]
  /** Given to two replicas at once. */
  readonly twins: number
  /** From the first post to the first arrival, ms, ascending. */
  readonly waits: readonly number[]
  readonly takenOver: number
  /** How often a replica came back that could not be sure of its claims any more. */
  readonly lapses: number
  readonly starts: number
  /** Processes on the store's books that did not end in order, and how many were killed. */
  readonly ownersLeft: number
  readonly kills: number
  /** Log lines that must not be: faults, and what the database called a deadlock. */
  readonly faults: readonly string[]
}

const REPLICAS = 3
const REST_WITHIN_MS = 120_000

/**
 * Three replicas on one Postgres under load, each a process of its own, while they are killed, stopped and replaced
 * and their database loses its power; then rest. Joins what was answered with what arrived and what the store says.
 */
export async function runChaos(options: ChaosOptions): Promise<Findings> {
  const { random, say } = options
  // A few take long, so that there is always something on its way.
  const ground = await openGround(() => (random() < 0.02 ? 1500 : 0) + random() * 40)
  const postgres = await openPostgres({ durable: true })
  const log = createLog()
  const replicas: Replica[] = []
  try {
    const url = await postgres.url()
    const env = { ...ground.settings(url), DRAIN_SECONDS: '1', LOG_LEVEL: 'info' }
    const began = Date.now()
    // All at once, on an empty database.
    for (let n = 0; n < REPLICAS; n += 1) replicas.push(startReplica({ env, heard: log.hear }))
    await untilReady(replicas)
    const platform = startPlatform({
      replicas,
      ca: ground.pem.cert,
      callers: options.callers ?? { email: 18, sms: 10 },
      thinkMs: 200,
      random,
    })
    const store = lookInto(url)
    await suffer(options, replicas, postgres)
    await platform.stop()
    await atRest(store.live)
    say('at rest')
    // One that is still starting does not end in order.
    await untilReady(replicas)
    await Promise.all(replicas.map(each => each.end()))
    const judgement = ground.judge(platform.record, await store.rows(began))
    return {
      ...judgement,
      ...log.found(),
      posts: platform.record,
      twins: platform.twins(),
      waits: waitsOf(judgement, ground.arrivals),
      starts: replicas.reduce((sum, each) => sum + each.starts(), 0),
      ownersLeft: await store.owners(),
      kills: options.blows.filter(blow => blow.is === 'kill').length,
      faults: [...log.faults, ...((await postgres.log()).match(/deadlock detected/g) ?? [])],
    }
  } finally {
    await Promise.all(replicas.map(each => each.destroy()))
    await postgres.close()
    await ground.close()
  }
}

async function suffer(
  { seconds, blows, say }: ChaosOptions,
  replicas: readonly Replica[],
  postgres: PostgresRig,
): Promise<void> {
  const began = performance.now()
  const until = (at: number) => pause(Math.max(0, began + at * 1000 - performance.now()))
  const struck = blows.map(async blow => {
    await until(blow.at)
    const whom = 'replica' in blow ? ` replica ${blow.replica}` : ''
    say(`${String(blow.at).padStart(4)} s  ${blow.is}${whom}`)
    if (blow.is === 'crash') return postgres.crash()
    const replica = replicas[blow.replica]
    if (blow.is !== 'stop') return replica?.kill(blow.is === 'kill' ? 'SIGKILL' : 'SIGTERM')
    replica?.kill('SIGSTOP')
    await until(blow.at + blow.seconds)
    say(`${String(blow.at + blow.seconds).padStart(4)} s  continue${whom}`)
    replica?.kill('SIGCONT')
  })
  await Promise.all([...struck, until(seconds)])
}

/** Waits until no message is live. @param count says how many are; null: it does not answer. */
export async function atRest(count: () => Promise<number | null>): Promise<void> {
  const end = performance.now() + REST_WITHIN_MS
  for (let live = await count(); live !== 0; live = await count()) {
    if (performance.now() > end) throw new Error(`${live} messages are still live ${REST_WITHIN_MS} ms later`)
    await pause(250)
  }
}

function waitsOf({ messages }: Judgement, arrivals: Evidence['arrivals']): readonly number[] {
  const first = new Map<string, number>()
  for (const { channel, to, at } of arrivals) {
    const key = `${channel} ${to}`
    first.set(key, Math.min(at, first.get(key) ?? at))
  }
  return messages
    .filter(each => each.promised)
    .flatMap(({ posts }) => {
      const at = first.get(`${posts[0]?.callback.channel} ${posts[0]?.callback.to}`)
      return at === undefined ? [] : [at - Math.min(...posts.map(post => post.askedAt))]
    })
    .toSorted((a, b) => a - b)
}

/** What the replicas' logs have to say in the end. */
function createLog() {
  let [takenOver, lapses] = [0, 0]
  const faults: string[] = []
  return {
    faults,
    hear(line: Readonly<Record<string, unknown>>) {
      const message = String(line['message'])
      if (line['event'] === 'fault') faults.push(JSON.stringify(line))
      if (line['doing'] === 'take over') takenOver += Number.parseInt(message, 10)
      if (message.startsWith('out of touch')) lapses += 1
    },
    found: () => ({ takenOver, lapses }),
  }
}
