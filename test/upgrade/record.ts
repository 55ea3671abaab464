// node test/upgrade/record.ts RELEASE [DIRECTORY]: runs a release as its operator would, on both stores, and writes what
// it leaves in them to test/upgrade/recorded/RELEASE. DIRECTORY is its checkout, with node_modules; this one unless given.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { deriveCallbackKey } from '../../src/callback/authenticate.ts'
import type { Channel } from '../../src/messages/message.ts'
import { type Callback, createCallbacks } from '../faults/callbacks.ts'
import { createDriver } from '../faults/driver.ts'
import { findPostgres, startPostgres } from '../rigs/postgres.ts'
import { spawnService } from '../rigs/process.ts'
import { CORP_ID, EMAIL_TOKEN, type Settings, type Sinks, SMS_TOKEN, startSinks } from '../rigs/service.ts'
import { RECORDED_DIRECTORY, RECORDED_SETTINGS, type Story } from './recorded.ts'

const [release = '', checkout = '.'] = process.argv.slice(2)
if (release === '') throw new Error('which release?')
const main = resolve(checkout, 'src/main.ts')

/** The mail server refuses this one. */
const REFUSED_PERSON = 50
/** From this one on nobody can be served yet. */
const WAITING_PERSON = 60

/** Bodies once and for all: both stores are given the same ones. */
function createStory(): Omit<Story, 'at'> {
  const callback = createCallbacks()
  const lifeMs = 3_600_000
  const mail = (person: number, kind: 'code' | 'link' | 'alarm' = 'code') =>
    callback('email', { person, kind, lifeMs })
  const sms = (person: number) => callback('sms', { person, lifeMs })
  return {
    sent: [mail(1), mail(1), mail(1), mail(2, 'link'), mail(2, 'alarm'), sms(3)],
    refused: [mail(REFUSED_PERSON)],
    superseded: [mail(WAITING_PERSON), sms(WAITING_PERSON)],
    waiting: [
      mail(WAITING_PERSON),
      sms(WAITING_PERSON),
      mail(WAITING_PERSON + 1, 'link'),
      mail(WAITING_PERSON + 2, 'alarm'),
    ],
    overQuota: mail(1),
  }
}

/** Providers that refuse one person, and cannot serve some yet. */
function misbehave({ smtp, twilio }: Sinks): void {
  smtp.act = ({ step, line }) => {
    if (step !== 'RCPT') return undefined
    const person = Number(/reader(\d+)@/.exec(line)?.[1])
    if (person === REFUSED_PERSON) return { is: 'say', reply: '550 5.1.1 no such user' }
    return person >= WAITING_PERSON ? { is: 'say', reply: '450 4.2.0 greylisted' } : undefined
  }
  twilio.fault = ({ form }) => {
    const person = Number(/138(\d{8})$/.exec(form['To'] ?? '')?.[1])
    const body = JSON.stringify({ code: 20_503, message: 'Service unavailable', status: 503 })
    return person >= WAITING_PERSON ? { is: 'answer', status: 503, body } : undefined
  }
}

/** Runs the release on a store until all was answered, and ends it in order. @returns when that was. */
async function play(t: Test, sinks: Sinks, settings: Settings, story: Omit<Story, 'at'>): Promise<number> {
  const program = spawnService(t, ['serve'], { ...sinks.settings, ...settings }, { main })
  const listening = await program.started
  if (listening === null) throw new Error(program.stderr())
  const url = (channel: Channel, token: string) =>
    `${listening.publicUrl}/callback/${CORP_ID}/${deriveCallbackKey(channel, CORP_ID, token)}/${channel}`
  const urls = { email: url('email', EMAIL_TOKEN), sms: url('sms', SMS_TOKEN) }
  const driver = createDriver({ urls: () => urls, ca: sinks.ca })
  const post = async (each: Callback) => (await driver.post(each)).errCode
  for (const each of story.sent) t.equal(await post(each), 0)
  for (const each of story.refused) t.equal(await post(each), 4002012)
  for (const each of [...story.superseded, ...story.waiting]) t.equal(await post(each), 0)
  t.equal(await post(story.overQuota), 4291001)
  await driver.close()
  program.child.kill('SIGTERM')
  t.equal(await program.exited, 0)
  return Date.now()
}

/** SQL that makes the same database. What `/readyz` writes to try the disk is left out. */
function dumpSqlite(path: string): string {
  const db = new DatabaseSync(path)
  const ask = (sql: string) =>
    db
      .prepare(sql)
      .all()
      .map(row => Object.values(row).map(String))
  db.exec("DELETE FROM meta WHERE key = 'probe'")
  const made = ask(
    "SELECT name, type, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'",
  )
  const rows = made.flatMap(([table = '', type]) => {
    if (type !== 'table') return []
    const columns = ask(`SELECT name FROM pragma_table_info('${table}')`).map(([name]) => `"${name}"`)
    const values = columns.map(name => `quote(${name})`).join(" || ', ' || ")
    return ask(`SELECT ${values} FROM ${table}`).map(
      ([line]) => `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${line});`,
    )
  })
  db.close()
  return [...made.map(([, , sql]) => `${sql};`), ...rows, ''].join('\n')
}

/** The same of a schema in Postgres, by pg_dump; its settings of the session are left out. */
function dumpPostgres(url: string): string {
  const schema = /search_path=(\w+)/.exec(decodeURIComponent(url))?.[1] ?? ''
  const { stdout, stderr, status } = spawnSync(
    'pg_dump',
    ['--inserts', '--no-owner', '--no-privileges', `--schema=${schema}`, `--dbname=${url}`],
    { encoding: 'utf8', env: { PATH: [findPostgres(), process.env['PATH']].join(':') } },
  )
  if (status !== 0) throw new Error(`pg_dump ended with ${status}: ${stderr}`)
  return stdout
    .split('\n')
    .filter(
      line =>
        !/^(--|SET |SELECT pg_catalog\.set_config|CREATE SCHEMA|\\|$)/.test(line) &&
        !line.includes("'probe'"),
    )
    .join('\n')
    .replaceAll(`${schema}.`, '')
    .concat('\n')
}

t.setTimeout(180_000)
await t.test(`what ${release} leaves`, { timeout: 180_000 }, async t => {
  const story = createStory()
  const postgres = await startPostgres(t)
  const url = await postgres.url()
  const target = join(RECORDED_DIRECTORY, release)
  mkdirSync(target, { recursive: true })
  for (const store of ['sqlite', 'postgres'] as const) {
    const sinks = await startSinks(t)
    misbehave(sinks)
    const path = join(sinks.directory, 'outbox.db')
    const databaseUrl = store === 'sqlite' ? `file:${path}` : url
    const at = await play(t, sinks, { ...RECORDED_SETTINGS, DATABASE_URL: databaseUrl }, story)
    writeFileSync(join(target, `${store}.sql`), store === 'sqlite' ? dumpSqlite(path) : dumpPostgres(url))
    writeFileSync(join(target, 'story.json'), `${JSON.stringify({ at, ...story }, null, 2)}\n`)
  }
})
