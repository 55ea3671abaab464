import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { MachineLimits } from '../../../src/commands/check/machine.ts'
import { checkMachine, findShortcomings, thisMachine } from '../../../src/commands/check/machine.ts'
import { enough, load } from '../../config/settings.ts'
import { linesOf, plenty } from './lines.ts'

const postgres = {
  DATABASE_URL: 'postgres://db.example.com/courier?sslmode=disable',
  STORE_SECRET: 'jdKw83nZqLs0vTbXm2RfYe',
}

const look = (has: Partial<MachineLimits> = {}, settings = {}) =>
  linesOf(checkMachine(load({ ...enough, ...settings }), '.env', { ...plenty, ...has })).map(line =>
    line.replace(/ (at|in) \/[^ :]+/, ' $1 DIRECTORY'),
  )

const about = (what: string, has: Partial<MachineLimits>) =>
  look(has).filter(line => line.includes(` ${what}: `))

t.test('plenty of everything is well', async t => {
  t.same(look(), ['ok disk: 50.0 GB free at DIRECTORY', 'ok open files: 1048576 may be open at once'])
  t.match(look({}, postgres), [/^ok open files/], 'whose disk is another machine’s')
})

t.test('what is too little, and what to do; what is just enough is well', async t => {
  const free = (octets: number) => ({ freeBytes: () => octets })
  const files = (most: number | null) => ({ openFiles: () => most })
  for (const [what, has, ...said] of [
    [
      'disk',
      free(49_999_999),
      'fail disk: 50 MB free at DIRECTORY: callbacks are answered 503 when it is full → make room, or move DATABASE_URL',
    ],
    [
      'disk',
      free(50_000_000),
      'warn disk: 50 MB free at DIRECTORY: less than MAX_BACKLOG messages need (1.0 GB) → make room, or lower MAX_BACKLOG',
    ],
    [
      'disk',
      free(999_999_999),
      'warn disk: 1000 MB free at DIRECTORY: less than MAX_BACKLOG messages need (1.0 GB) → make room, or lower MAX_BACKLOG',
    ],
    ['disk', free(1_000_000_000), 'ok disk: 1.0 GB free at DIRECTORY'],
    [
      'open files',
      files(4095),
      'warn open files: 4095 may be open at once: each connection takes one → raise it to 4096 or more (ulimits in compose, LimitNOFILE in systemd)',
    ],
    ['open files', files(4096), 'ok open files: 4096 may be open at once'],
    ['open files', files(null)],
  ] as const) {
    t.same(about(what, has), said)
  }
  for (const { is } of findShortcomings(load(enough))) t.equal(is, 'warn', 'a start says nothing else')
})

t.test('a store that is gone with its container', async t => {
  const on = (kind: string) => ({ passingFileSystem: () => kind })
  t.same(about('DATABASE_URL', on('overlay')), [
    'warn DATABASE_URL: the store is on overlay: it is gone with the container, or the machine, and what waits with it → put it on a volume',
  ])
  t.same(
    look(on('tmpfs'), postgres).filter(line => line.includes('DATABASE_URL')),
    [],
  )
})

t.test('settings that everybody on the machine can read', async t => {
  t.same(about('.env', { mode: () => 0o644 }), [
    'warn .env: holds secrets, and every user of this machine can read it → chmod 600 .env',
  ])
  t.same(about('.env', { mode: () => 0o640 }), [])
})

t.test('what this machine really has', async t => {
  const machine = thisMachine
  const directory = t.testdir()
  t.ok((machine.freeBytes(directory) ?? 0) > 0)
  const mounts = existsSync('/proc/mounts') ? readFileSync('/proc/mounts', 'utf8') : ''
  if (/^\S+ \/dev\/shm tmpfs /m.test(mounts))
    t.equal(machine.passingFileSystem('/dev/shm/courier/not-there'), 'tmpfs')
  t.ok(machine.openFiles() === null || Number(machine.openFiles()) >= 256)
  const path = join(directory, '.env')
  t.equal(machine.mode(path), null)
  writeFileSync(path, '', { mode: 0o600 })
  t.equal(machine.mode(path), 0o600)
})
