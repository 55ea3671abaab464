import { readFileSync, writeFileSync } from 'node:fs'
import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { encryptPayload, tryDecrypt } from '../../src/outbox/encryption.ts'
import { createPostgresOutbox } from '../../src/outbox/postgres/outbox.ts'
import { NOON, type Sample, STORE, sample, testClock } from './samples.ts'

/**
 * test/fixtures/postgres-calls.txt is a conversation: `>` calls the store, `<` is what the database says to the first statement that
 * matches, `-` sets the time or takes hosts away, and all else is what the store does and answers. `@5` is 5 ms after the start; `+`
 * leaves in one write with what is before it. `WRITE=1 node test/outbox/postgres-calls.test.ts` writes it anew; its diff is then read
 * as the change of what the database is asked that it is.
 */
const CONVERSATION = new URL('../fixtures/postgres-calls.txt', import.meta.url)
const SCRIPT = readFileSync(CONVERSATION, 'utf8')
const { payloadKeys } = STORE.storeKeys
const clock = testClock()
const lines: string[] = []
const say = (line: string) => {
  const timed = line.replaceAll(/\b1[78]\d{11}\b/g, at => `@${Number(at) - NOON}`)
  lines.push(timed.replaceAll(/[\da-f]{16}/g, 'own'))
}
const state = { at: 0, away: '', sessions: 0, days: [] as { name: string; bounds: string }[] }
let answers: { readonly statement: string; readonly rows: readonly Answer[] }[] = []

interface Answer {
  readonly row?: number
  readonly sending?: number
  readonly due?: number
  readonly times?: number
  readonly look?: true
  readonly error?: string
  readonly tookMs?: number
}

const NULLS =
  `finalAt leaseUntil leaseToken groupKey country attemptedBy answer providerId charges receiptStatus
  receiptHappenedAt undelivered timeline outdated begun`.split(/\s+/)
const MESSAGE = {
  ...Object.fromEntries(NULLS.map(name => [name, null])),
  ...Object.fromEntries(['arrivedAt', 'dueAt'].map(name => [name, NOON])),
  expiresAt: NOON + 3_600_000,
  channel: 'email',
  kind: 'login-code',
  purpose: 'code',
  masked: 'm***',
  state: 'queued',
  attempts: 1,
  ambiguous: 0,
}
const IDLE = { code: null, other: null, nextCode: null, nextOther: null, lease: null, change: null }

/** Makes what stands in the conversation whole. */
function rowsOf({ row, sending, due, times = 1, look, ...more }: Answer): readonly object[] {
  const seq = row ?? sending ?? due
  const id = `m${seq}`
  const content = { params: { code: id }, words: 'ours' } as const
  const given = {
    ...(look && IDLE),
    ...(seq !== undefined && { ...MESSAGE, seq, id, recipientHash: `hash ${id}` }),
    ...(sending && { state: 'sending', dueAt: null, leaseUntil: NOON, leaseToken: `t${seq}` }),
    ...(due && {
      destination: 'x',
      payload: encryptPayload(payloadKeys, id, { recipient: `r${seq}`, content }),
    }),
    ...more,
  }
  return Array.from({ length: times }, () => ({ ...given }))
}

/** An empty database, as it should be. */
const SERVER = {
  version: 150_000,
  fsync: 'on',
  commits: 'on',
  encoding: 'UTF8',
  creates: true,
  owns: null,
  columns: [],
}

function answer(text: string, session: number): readonly object[] {
  const said = answers.find(({ statement }) => new RegExp(statement).test(text))
  answers = answers.filter(each => each !== said)
  const [{ error: code, tookMs = 0, ...words } = {}] = said?.rows ?? []
  state.at += tookMs
  if (code !== undefined) throw Object.assign(new Error('in words'), { code, ...words })
  if (said !== undefined) return said.rows.flatMap(rowsOf)
  const [, name, from, to] =
    /PARTITION courier_reports_(\d+) .*FROM \((-?\d+)\) TO \((-?\d+)\)/.exec(text) ?? []
  if (name !== undefined) state.days.push({ name, bounds: `FROM ('${from}') TO ('${to}')` })
  if (text.includes('pg_inherits')) return state.days
  if (text.includes('pg_backend_pid() AS id')) return [{ id: session }]
  if (text.includes('server_version_num')) return [SERVER]
  if (text.includes('AS code')) return [IDLE]
  if (text.includes('AS live FROM courier_backlog')) return [{ live: '1' }]
  return text.includes('INTO courier_replicas')
    ? [{ at: NOON, name: 'self', heartbeats: 0, hasLeft: false }]
    : []
}

/** A value as a person reads it: rows one a line, what is encrypted as what it says. */
function shown(value: unknown): string {
  if (typeof value === 'string' && /^[\w+/]{80,}=*$/.test(value)) return `${value.length} characters`
  if (typeof value !== 'string' || !value.startsWith('[{')) return JSON.stringify(value)
  const rows = (JSON.parse(value) as { id: string; payload?: string }[]).map(({ payload, ...row }) => {
    const content = payload && tryDecrypt(payloadKeys, row.id, Buffer.from(payload, 'base64'))
    return JSON.stringify({ ...row, ...(content && { content }) })
  })
  return rows.join('\n      ')
}

type Query = string | { readonly name?: string; readonly text: string; readonly values?: readonly unknown[] }
const statements = new Map<string, string>()

function openSession(pool: string) {
  state.sessions += 1
  const session = state.sessions
  let isFirst = true
  const stream = {
    writableCorked: 0,
    cork() {
      stream.writableCorked += 1
      isFirst = true
    },
    uncork: () => void (stream.writableCorked -= 1),
  }
  return {
    connection: { stream },
    on: (event: string) => say(`${pool}: listens for ${event}`),
    release: (isBroken?: boolean) => isBroken && say(`${pool}: is thrown away`),
    async query(asked: Query, more: readonly unknown[] = []) {
      const { name, text: full, values = more } = typeof asked === 'string' ? { text: asked } : asked
      const text = full.trim().replaceAll(/\s+/g, ' ')
      if (name !== undefined && (statements.get(name) ?? text) !== text)
        throw new Error('one name, two statements')
      if (name !== undefined) statements.set(name, text)
      const at = [...statements.keys()].indexOf(name ?? '') + 1
      const mark = stream.writableCorked > 0 && !isFirst ? '+' : ':'
      isFirst = false
      say(`${pool}${mark} ${at === 0 ? text.slice(0, 2000) : `(${at}) ${text.slice(0, 60)}`}`)
      for (const value of values) say(`      ${shown(value)}`)
      const rows = answer(text, session)
      const [{ command = text } = {}] = rows as { command?: string }[]
      return { rows, rowCount: rows.length, command }
    },
  }
}

const POOLS: Readonly<Record<number, string>> = { 1: 'heartbeat', 2: 'start', 6: 'work' }
const opened = new WeakSet<object>()
async function connect(this: pg.Pool): Promise<object> {
  const {
    max,
    pipeline,
    keepAlive,
    connectionTimeoutMillis,
    query_timeout,
    application_name,
    onConnect,
    Client,
  } = this.options as pg.PoolConfig & { pipeline: boolean; Client: new (options: object) => pg.Client }
  const name = `${POOLS[max ?? 0]}`
  const { host, port, database } = new Client(this.options)
  if (state.away !== '') say(`${name}: ${host}:${port}/${database}`)
  if (host === state.away || state.away === 'all')
    throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
  const session = openSession(name)
  if (opened.has(this)) return session
  opened.add(this)
  say(
    `${name}: ${JSON.stringify({ max, pipeline, keepAlive, connectionTimeoutMillis, query_timeout, application_name })}`,
  )
  this.emit('connect', session)
  this.emit('error', new Error('broke'), session)
  await (onConnect as (client: object) => Promise<void>)(session)
  return session
}

async function end(this: pg.Pool): Promise<void> {
  say(`${POOLS[this.options.max ?? 0]}: is closed`)
}

const read = (json: string) =>
  JSON.parse(json, (_, value) => (/^@-?\d+$/.test(value) ? NOON + Number(value.slice(1)) : value))

function acceptancesOf({
  id,
  held,
  times = 1,
  ...given
}: Sample & { readonly id: string; readonly times?: number }) {
  const made = sample(clock, {
    recipient: `${id}@example.com`,
    destination: 'example.com',
    ...given,
    ...(held && { held }),
  })
  const more = { message: { ...made.message, id }, dedupeKey: `dedupe ${id}`, recipientHash: `hash ${id}` }
  return Array.from({ length: times }, () => ({ ...made, ...more }))
}

let outbox: object = {}

function open(more: object = {}) {
  return createPostgresOutbox({
    ...STORE,
    clock,
    url: 'postgres://one,two:6543/store',
    keepsEvents: true,
    statementTimeoutMs: 3000,
    maxBacklog: 20,
    log: ({ doing, message }) => say(`log: ${doing}: ${message}`),
    onCommit: ({ ms, calls }) => say(`commit: ${ms} ms, ${calls} calls`),
    ...more,
  })
}

/** @param path of a function of the store. */
async function call(path: string, args: readonly never[]): Promise<unknown> {
  if (path === 'tick') return mock.timers.tick(args[0] ?? 0)
  if (path === 'open') return void (outbox = await open(...args))
  const [name = '', of] = path.split('.').toReversed()
  const port = (of === undefined ? outbox : outbox[of as never]) as Record<
    string,
    (...of: unknown[]) => unknown
  >
  const given = await port[name]?.(...(name === 'accept' ? [args.flat().flatMap(acceptancesOf)] : args))
  return given instanceof Map ? [...given] : given
}

async function play(scene: string): Promise<void> {
  const calls: [string, readonly never[]][] = []
  answers = []
  for (const line of scene.split('\n')) {
    if (!/^[-<>A-Z]/.test(line)) continue
    lines.push(line)
    const [, kind, what = '', json = ''] = /^([-<>]) (\S+) ?(.*)$/.exec(line) ?? []
    if (kind === '>') calls.push([what, read(json || '[]')])
    if (kind === '<') answers.push({ statement: what, rows: read(json || '[]') })
    if (what === 'clock') clock.set(read(json))
    else if (kind === '-') Object.assign(state, { [what]: read(json) })
  }
  const made = await Promise.all(
    calls.map(([path, args]) => call(path, args).catch((error: Error) => `${error.name}: ${error.message}`)),
  )
  await turn()
  for (const each of made) say(`= ${JSON.stringify(each) ?? 'nothing'}`)
  for (const { statement } of answers) say(`nobody asked ${statement}`)
  say('')
}

t.test('what each call asks the database, in which order, and what it makes of the answers', async t => {
  mock.method(pg.Pool.prototype, 'connect', connect)
  mock.method(pg.Pool.prototype, 'end', end)
  mock.method(Math, 'random', () => 0.5)
  mock.method(performance, 'now', () => state.at)
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.reset())
  for (const scene of SCRIPT.split(/\n\n(?!\()/)) if (!scene.startsWith('(')) await play(scene)
  for (const [n, text] of [...statements.values()].entries()) say(`(${n + 1}) ${text}`)
  const text = `${lines.join('\n')}\n`
  if (process.env['WRITE']) writeFileSync(CONVERSATION, text)
  else t.equal(text, SCRIPT)
})
