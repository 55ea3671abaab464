import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'
import { openAttemptJournal, readAttemptJournal } from '../../src/outbox/sqlite/attempt-journal.ts'

const [A, B, C] = ['a', 'b', 'c'].map(letter => letter.repeat(32)) as [string, string, string]
const lease = (token: string) => ({ token, until: 0 })

function open(t: Test) {
  const path = join(t.testdir({}), 'attempts')
  const journal = openAttemptJournal(path, 'boot-1')
  t.teardown(journal.close)
  return { ...journal, path, read: () => readAttemptJournal(path, 'boot-1') }
}

t.test('what has begun and not ended is known to the next process, with whom it went to', async t => {
  const { begin, end, read } = open(t)
  t.same(read(), new Map())
  begin(A, lease('1'), 'p'.repeat(32))
  begin(B, lease('2'), 'tencent')
  begin(C, lease('3'))
  begin(B, lease('2'), 'twilio')
  t.same(
    read(),
    new Map([
      [A, 'p'.repeat(32)],
      [B, 'twilio'],
      [C, ''],
    ]),
  )
  begin(C, lease('4'))
  end(C, '3')
  end('of nobody', '1')
  end(A, '1')
  t.same(
    [...(read() ?? [])],
    [
      [B, 'twilio'],
      [C, ''],
    ],
    'the end of an earlier attempt ends no later one',
  )
})

t.test('a machine that was started again, or does not say, trusts no journal', async t => {
  const { begin, path } = open(t)
  begin(A, lease('1'))
  t.equal(readAttemptJournal(path, 'boot-2'), null)
  t.equal(readAttemptJournal(path, null), null)
  t.equal(readAttemptJournal(`${path}-of-nobody`, 'boot-1'), null)
  openAttemptJournal(path, null).close()
  t.equal(readAttemptJournal(path, 'boot-1'), null, 'nor one that was written where that was not known')
})

t.test('it has room for a thousand from the beginning, and for more', async t => {
  const { begin, end, path, read } = open(t)
  const size = 64 + 1024 * 64
  t.equal(statSync(path).size, size)
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(readFileSync(path, 'latin1').slice(0, 64), 'attempts 2 boot-1'.padEnd(64, '\0'))
  const ids = Array.from({ length: 1025 }, (_, n) => `${n}`.padStart(32, '0'))
  for (const id of ids.slice(1)) begin(id, lease(id))
  for (let n = 0; n < 9; n += 1) {
    end(ids[7] ?? '', ids[7] ?? '')
    begin(ids[7] ?? '', lease(ids[7] ?? ''))
  }
  t.equal(statSync(path).size, size, 'what has ended makes room')
  begin(ids[0] ?? '', lease('1'))
  t.equal(statSync(path).size, size + 64)
  t.equal(read()?.size, 1025)
})

t.test('an attempt that cannot be noted must not begin, and a process that starts begins anew', async t => {
  const { begin, close, path, read } = open(t)
  begin(A, lease('1'))
  close()
  close()
  t.throws(() => begin(B, lease('2')), StoreUnavailable)
  t.same(read(), new Map([[A, '']]))
  openAttemptJournal(path, 'boot-1').close()
  t.same(read(), new Map())
})
