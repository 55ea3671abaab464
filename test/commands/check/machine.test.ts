import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  checkMachine,
  createMachineLimits,
  findShortcomings,
  type MachineLimits,
} from '../../../src/commands/check/machine.ts'
import { enough, load } from '../../config/settings.ts'
import { linesOf } from './lines.ts'

/** Plenty of everything. */
const plenty: MachineLimits = {
  freeBytes: () => 50_000_000_000,
  openFiles: () => 1_048_576,
  memory: () => null,
  mode: () => null,
  passingFileSystem: () => null,
}

const look = (has: Partial<MachineLimits> = {}, settings = {}) =>
  linesOf(checkMachine(load({ ...enough, ...settings }), '.env', { ...plenty, ...has }))

const about = (what: string, has: Partial<MachineLimits>) =>
  look(has).filter(line => line.includes(` ${what}: `))

t.test('plenty of everything is well', async t => {
  const postgres = {
    DATABASE_URL: 'postgres://db.example.com/courier?sslmode=disable',
    STORE_SECRET: 'jdKw83nZqLs0vTbXm2RfYe',
  }
  t.match(look(), [/^ok disk: 50\.0 GB free at /, /^ok open files: 1048576 /])
  t.match(look({}, postgres), [/^ok open files/], 'whose disk is another machine’s')
})

t.test('what is too little, and what to do', async t => {
  t.match(about('disk', { freeBytes: () => 40_000_000 }), [/^fail disk: 40 MB free at .*503.* → make room/])
  t.match(about('disk', { freeBytes: () => 900_000_000 }), [
    /^warn disk: 900 MB free .*MAX_BACKLOG.*\(1\.0 GB\)/,
  ])
  t.match(about('open files', { openFiles: () => 1024 }), [/^warn open files: 1024 .*LimitNOFILE/])
  t.same(about('open files', { openFiles: () => null }), [])
  t.match(about('memory', { memory: () => 128_000_000 }), [/^warn memory: 128 MB .*256 MB/])
  t.same(about('memory', { memory: () => 256 * 1024 * 1024 }), [])
})

t.test('what is just enough is well', async t => {
  t.match(about('disk', { freeBytes: () => 49_999_999 }), [/^fail/])
  t.match(about('disk', { freeBytes: () => 50_000_000 }), [/^warn disk: 50 MB free/])
  t.match(about('disk', { freeBytes: () => 999_999_999 }), [/^warn/])
  t.match(about('disk', { freeBytes: () => 1_000_000_000 }), [/^ok disk: 1\.0 GB free/])
  t.match(about('open files', { openFiles: () => 4095 }), [/^warn/])
  t.match(about('open files', { openFiles: () => 4096 }), [/^ok/])
  t.match(about('memory', { memory: () => 199_999_999 }), [/^warn/])
  t.same(about('memory', { memory: () => 200_000_000 }), [])
  for (const { is } of findShortcomings(load(enough))) t.equal(is, 'warn', 'a start says nothing else')
})

t.test('a store that is gone with its container', async t => {
  const on = (kind: string) => ({ passingFileSystem: () => kind })
  t.match(about('DATABASE_URL', on('overlay')), [/^warn DATABASE_URL: .*overlay.* → put it on a volume$/])
  t.same(
    look(on('tmpfs'), {
      DATABASE_URL: 'postgres://db.example.com/courier?sslmode=disable',
      STORE_SECRET: 'jdKw83nZqLs0vTbXm2RfYe',
    }).filter(line => line.includes('DATABASE_URL')),
    [],
  )
})

t.test('settings that everybody on the machine can read', async t => {
  t.match(about('.env', { mode: () => 0o644 }), [/^warn \.env: .* → chmod 600 \.env$/])
  t.same(about('.env', { mode: () => 0o640 }), [])
})

t.test('what this machine really has', async t => {
  const machine = createMachineLimits()
  const directory = t.testdir()
  t.ok((machine.freeBytes(directory) ?? 0) > 0)
  const mounts = existsSync('/proc/mounts') ? readFileSync('/proc/mounts', 'utf8') : ''
  if (/^\S+ \/dev\/shm tmpfs /m.test(mounts))
    t.equal(machine.passingFileSystem('/dev/shm/courier/not-there'), 'tmpfs')
  t.ok(machine.openFiles() === null || Number(machine.openFiles()) >= 256)
  t.ok(machine.memory() === null || Number(machine.memory()) > 1_000_000)
  const path = join(directory, '.env')
  t.equal(machine.mode(path), null)
  writeFileSync(path, '', { mode: 0o600 })
  t.equal(machine.mode(path), 0o600)
})
