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
  const disks = [49_999_999, 50_000_000, 999_999_999, 1_000_000_000].flatMap(octets =>
    about('disk', { freeBytes: () => octets }),
  )
  const files = [4095, 4096, null].flatMap(most => about('open files', { openFiles: () => most }))
  const record = readFileSync(join(import.meta.dirname, '../../fixtures/machine.txt'), 'utf8')
  t.same([...disks, ...files], record.trimEnd().split('\n'))
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
