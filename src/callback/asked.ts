import { encryptPayload, type StoreKeys, tryDecrypt } from '../outbox/encryption.ts'
import type { Acceptance, MemoStore, Outbox } from '../outbox/outbox.ts'
import { FIGURES_KEPT_MS, QUARTER_MS } from '../outbox/outbox.ts'
import type { Clock } from '../runtime/clock.ts'
import { countedDomainOf } from './recipients.ts'

/** What was asked for under one name; what a quota held back is among it. */
export interface Asked {
  readonly channel: 'email' | 'sms'
  readonly about: 'kind' | 'country' | 'prefix' | 'domain'
  /** A prefix is a number without its last four digits. */
  readonly name: string
  readonly count: number
  /** It may have been asked for this often before it was among the busiest. */
  readonly missed: number
  /** How many of them were held back, by quota. */
  readonly held: Readonly<Record<string, number>>
  /** Short keyed hashes of its recipients: the MOST_RECIPIENTS lowest, in order. */
  readonly recipients: readonly string[]
}

/** What was asked for since the last batch; its recipients are in no order, and some stand twice. */
interface Counting extends Omit<Asked, 'count' | 'held' | 'recipients'> {
  count: number
  readonly held: Record<string, number>
  readonly recipients: string[]
}

interface AskedOptions {
  readonly accept: Outbox['accept']
  /** Where figures are kept, encrypted: by the quarter of an hour and the replica, in a memo each. */
  readonly memos: MemoStore
  readonly payloadKeys: StoreKeys['payloadKeys']
  readonly clock: Clock
  /** Names this process. */
  readonly owner: string
}

/** So long, ms, and so many messages are counted in memory, and then written at once: nothing of it is on the road of a message. */
const BATCH_MS = 5000
const BATCH = 1000
/** So many names of a channel and kind of name stay in a quarter of an hour, however many strangers invent. */
const MOST_NAMES = 64
/** So many recipients are told apart one by one; of more it is estimated how many they are. */
const MOST_RECIPIENTS = 64
/** So many replicas have memos of their own; what others would write is not counted. */
const REPLICAS = 16
const LEASE_MS = 60_000

/**
 * Makes the acceptance of messages that counts what was asked for, by kind, country, prefix of numbers and domain: all that was
 * stored or held back by a quota, and no repetition. A process that is killed loses its last batch.
 */
export function createAskedCount({ accept, memos, payloadKeys, clock, owner }: AskedOptions) {
  let batch = new Map<string, Counting>()
  let messages = 0
  let quarter = 0
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()
  const nameOf = (at: number, replica: number) => `asked/${at}/${replica}`
  const readMemo = (name: string, value: string | undefined): readonly Asked[] => {
    const read = value === undefined ? null : tryDecrypt(payloadKeys, name, Buffer.from(value, 'base64'))
    return read === null ? [] : (JSON.parse(read.recipient) as readonly Asked[])
  }

  /** Finds the memos that only this process writes. */
  async function findReplica(): Promise<number> {
    for (let replica = 0; replica < REPLICAS; replica += 1)
      if ((await memos.takeLeaderLease?.(`asked/${replica}`, owner, LEASE_MS)) !== false) return replica
    return -1
  }

  async function write(at: number, added: readonly Asked[]): Promise<void> {
    const replica = added.length === 0 ? -1 : await findReplica()
    if (replica < 0) return
    const name = nameOf(at, replica)
    const stored = readMemo(name, (await memos.readMemos([name])).get(name))
    const recipient = JSON.stringify(keepBusiest(stored, added))
    const value = encryptPayload(payloadKeys, name, { recipient, content: { params: {}, words: 'ours' } })
    const expiresAt = at * QUARTER_MS + FIGURES_KEPT_MS
    await memos.writeMemo({ name, value: value.toString('base64'), expiresAt })
  }

  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const [at, added] = [quarter, [...batch.values()]]
    batch = new Map()
    messages = 0
    writing = writing.then(() => write(at, added)).catch(() => {})
    return writing
  }

  function note({ message, country, recipientHash }: Acceptance, quota: string | undefined): void {
    const { channel, kind, recipient } = message
    const recipientOf = Buffer.from(recipientHash, 'base64url').toString('hex', 0, 4)
    const names =
      channel === 'email'
        ? { kind, domain: countedDomainOf(recipient) }
        : { kind, country, prefix: recipient.slice(0, -4) }
    for (const [about, name = '-'] of Object.entries(names) as [Asked['about'], string?][]) {
      const key = `${channel} ${about} ${name}`
      const known = batch.get(key) ?? { channel, about, name, count: 0, missed: 0, held: {}, recipients: [] }
      known.count += 1
      if (quota !== undefined) known.held[quota] = (known.held[quota] ?? 0) + 1
      known.recipients.push(recipientOf)
      batch.set(key, known)
    }
    messages += 1
    timer ??= setTimeout(flush, BATCH_MS).unref()
  }

  return {
    accept: (async given => {
      const accepted = await accept(given)
      const now = Math.floor(clock.now() / QUARTER_MS)
      if (now !== quarter || messages >= BATCH) void flush()
      quarter = now
      for (const [at, each] of given.entries()) {
        const result = accepted[at]
        if (result?.is === 'stored' || result?.is === 'held') note(each, undefined)
        else if (result?.is === 'over-quota') note(each, result.quota)
      }
      return accepted
    }) satisfies Outbox['accept'],
    /** Reads the ten busiest names of each channel and kind of name since a moment, to the quarter of an hour. @throws StoreUnavailable */
    async read(since: number): Promise<readonly Asked[]> {
      await flush()
      const [first, last] = [since, clock.now()].map(at => Math.floor(at / QUARTER_MS)) as [number, number]
      const quarters = Array.from({ length: last - first + 1 }, (_, n) => first + n)
      const replicas = [...Array(memos.takeLeaderLease === undefined ? 1 : REPLICAS).keys()]
      const found = await memos.readMemos(
        quarters.flatMap(at => replicas.map(replica => nameOf(at, replica))),
      )
      const all = addUp([...found].flatMap(([name, value]) => readMemo(name, value)))
      const byGroup = Map.groupBy(
        all.toSorted((a, b) => b.count - a.count),
        groupOf,
      )
      return [...byGroup.values()].flatMap(names => names.slice(0, 10))
    },
    /** Writes the last batch. */
    close: flush,
  }
}

const groupOf = ({ channel, about }: Asked) => `${channel} ${about}`

/** Puts the counts of each name together. */
function addUp(all: readonly Asked[]): readonly Asked[] {
  const byName = Map.groupBy(all, each => `${groupOf(each)} ${each.name}`)
  return [...byName.values()].map(those => {
    const held: Record<string, number> = {}
    for (const each of those)
      for (const [quota, n] of Object.entries(each.held)) held[quota] = (held[quota] ?? 0) + n
    const recipients = [...new Set(those.flatMap(each => each.recipients))].sort().slice(0, MOST_RECIPIENTS)
    const count = those.reduce((sum, each) => sum + each.count, 0)
    return { ...(those[0] as Asked), count, held, recipients }
  })
}

/**
 * Counts more, and keeps the busiest names: a new one takes the place of the one that was asked for least, and may have missed as many
 * (space saving, https://doi.org/10.1007/978-3-540-30570-5_27). So what is more than a 64th of all is never lost.
 */
export function keepBusiest(stored: readonly Asked[], added: readonly Asked[]): readonly Asked[] {
  const known = new Set(stored.map(each => `${groupOf(each)} ${each.name}`))
  const groups = Map.groupBy(stored, groupOf)
  const all = addUp([...stored, ...added]).map(each => {
    const group = groups.get(groupOf(each)) ?? []
    const isNew = !known.has(`${groupOf(each)} ${each.name}`) && group.length >= MOST_NAMES
    return isNew ? { ...each, missed: Math.min(...group.map(sizeOf)) } : each
  })
  return [...Map.groupBy(all, groupOf).values()].flatMap(names =>
    names.sort((a, b) => sizeOf(b) - sizeOf(a)).slice(0, MOST_NAMES),
  )
}

const sizeOf = ({ count, missed }: Asked) => count + missed

/** Says how many different recipients there were, about: from MOST_RECIPIENTS on by how close the lowest of their hashes lie. */
export function countRecipients({ recipients }: Pick<Asked, 'recipients'>): number {
  const last = recipients[MOST_RECIPIENTS - 1]
  if (last === undefined) return recipients.length
  return Math.round((MOST_RECIPIENTS - 1) / (Number.parseInt(last, 16) / 2 ** 32))
}
