import { ask, type Client, commit, type Statement } from './connect.ts'
import { OLD_REPLICAS } from './heartbeats.ts'

const PRUNE_STEP = 500

/**
 * Forgets a step of what is older than the retention. Replicas share the work by passing by what another one has
 * locked.
 * @returns whether there is more.
 */
export async function prune(client: Client, now: number, retentionMs: number): Promise<boolean> {
  const [, rows, buckets, notes] = await commit(
    client,
    client.query('BEGIN'),
    ask(client, OLD_MESSAGES, now - retentionMs),
    ask(client, OLD_BUCKETS, now),
    ask(client, OLD_NOTES, now),
    ask(client, OLD_TALLIES, Math.floor((now - retentionMs) / 60_000)),
    ask(client, OLD_REPLICAS),
  )
  return [rows, buckets, notes].some(each => each?.rowCount === PRUNE_STEP)
}

const OLD_MESSAGES: Statement = {
  name: 'old-messages',
  text: `DELETE FROM courier_messages WHERE seq IN
    (SELECT seq FROM courier_messages WHERE final_at < $1 ORDER BY final_at LIMIT ${PRUNE_STEP} FOR UPDATE SKIP LOCKED)`,
}
const OLD_BUCKETS: Statement = {
  name: 'old-buckets',
  text: `DELETE FROM courier_buckets WHERE name IN
    (SELECT name FROM courier_buckets WHERE gone_at <= $1 ORDER BY gone_at LIMIT ${PRUNE_STEP} FOR UPDATE SKIP LOCKED)`,
}
const OLD_NOTES: Statement = {
  name: 'old-notes',
  text: `DELETE FROM courier_notes WHERE name IN
    (SELECT name FROM courier_notes WHERE gone_at <= $1 ORDER BY gone_at LIMIT ${PRUNE_STEP} FOR UPDATE SKIP LOCKED)`,
}
const OLD_TALLIES: Statement = {
  name: 'old-tallies',
  text: `DELETE FROM courier_tallies WHERE (minute, channel, kind, state, shard) IN
    (SELECT minute, channel, kind, state, shard FROM courier_tallies WHERE minute < $1 LIMIT ${PRUNE_STEP}
     FOR UPDATE SKIP LOCKED)`,
}
