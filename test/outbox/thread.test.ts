import { EventEmitter } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ValuesRefused } from '../../src/outbox/operations.ts'
import { BacklogFull, StoreUnavailable } from '../../src/outbox/outbox.ts'
import { createSqliteOutbox } from '../../src/outbox/sqlite/outbox.ts'
import {
  createThreadCalls,
  type MessageFromWorker,
  type StoreThread,
} from '../../src/outbox/sqlite/thread.ts'
import { serveHere } from '../rigs/serve-here.ts'
import { lease, NOON, STORE, sample, testClock } from './samples.ts'

/** A thread that a test plays: what it was told, and what it says. */
function play() {
  const told: object[] = []
  const emitter = new EventEmitter()
  const thread = Object.assign(emitter, {
    postMessage: (message: object | string) => void told.push(Object(message)),
  }) as unknown as StoreThread
  const say = (message: MessageFromWorker) => void emitter.emit('message', message)
  /** Ends a batch with what each of its calls gives. */
  const reply = (batch: number, ...values: readonly unknown[]) =>
    say({ is: 'replies', batch, replies: { values, failures: [] }, ms: 7 })
  return { told, thread, say, reply, exit: () => void emitter.emit('exit', 0), emitter }
}

function begin() {
  const played = play()
  const [log, commits]: [unknown[], unknown[]] = [[], []]
  const calls = createThreadCalls(played.thread, {
    log: line => log.push(line),
    onCommit: commit => commits.push(commit),
  })
  const find = (id: string) => calls.call('findMessage', { id })
  const asked = (batch: number, ...ids: readonly string[]) => ({
    batch,
    calls: ids.map(id => ['findMessage', { id }]),
  })
  return { ...played, ...calls, log, commits, find, asked }
}

t.test('the thread has one batch, and what comes meanwhile gathers for the next one', async t => {
  const { told, reply, commits, find, asked } = begin()
  const ends = [find('a'), find('b')]
  await turn()
  ends.push(find('c'))
  await turn()
  ends.push(find('d'), find('e'))
  await turn()
  t.same(told, [asked(1, 'a', 'b')])
  reply(1, 'A', 'B')
  await turn()
  t.same(told.slice(1), [asked(2, 'c', 'd', 'e')])
  reply(2, 'C', 'D', 'E')
  t.same(await Promise.all(ends), ['A', 'B', 'C', 'D', 'E'])
  t.same(commits, [
    { ms: 7, calls: 2 },
    { ms: 7, calls: 3 },
  ])
  for (let n = 0; n < 1001; n += 1) void find(`${n}`)
  await turn()
  const sizes = () => told.slice(2).map(each => (each as { readonly calls: readonly unknown[] }).calls.length)
  t.same(sizes(), [1000], 'the first callers do not wait for all who came later')
  reply(3, ...Array.from({ length: 1000 }, () => 0))
  await turn()
  t.same(sizes(), [1000, 1])
})

t.test('each failure has its kind and its cause, and one that undid the others is tried alone', async t => {
  const { told, say, commits, find, asked } = begin()
  const kinds = ['unavailable', 'backlog', 'refused', 'fault'] as const
  const cause = new Error('of SQLite')
  const ends = Promise.allSettled(['ok', ...kinds].map(find))
  await turn()
  const failures = kinds.map((is, at) => [at + 1, { is, message: `it is ${is}`, cause }] as const)
  say({ is: 'replies', batch: 1, replies: { values: [['O', 'K'], 1, 2, 3, 4], failures }, ms: 7 })
  t.match(await ends, [
    { value: ['O', 'K'] },
    { reason: { constructor: StoreUnavailable, message: 'it is unavailable', cause } },
    { reason: { constructor: BacklogFull, message: 'it is backlog' } },
    { reason: { constructor: ValuesRefused, message: 'it is refused' } },
    { reason: { constructor: Error, message: 'a fault in the store: it is fault', cause } },
  ])
  void Promise.allSettled(['a', 'b'].map(find))
  await turn()
  say({ is: 'replies', batch: 2, replies: { undone: { is: 'refused', message: 'of one' } }, ms: 7 })
  await turn()
  t.same(told.slice(1), [asked(2, 'a', 'b'), asked(3, 'a')])
  t.equal(commits.length, 1, 'what was undone is no commit')
})

t.test('a thread that ends takes its calls along, and hears no more', async t => {
  const { told, find, exit, backUp, close } = begin()
  const [waiting, copying] = [find('a'), backUp('copy')]
  const closed = { name: 'StoreUnavailable', message: 'the store is closed' }
  await turn()
  exit()
  await t.rejects(waiting, closed)
  await t.rejects(copying, closed)
  await t.rejects(find('b'), closed)
  await t.rejects(backUp('copy'), closed)
  await close()
  t.equal(told.length, 2)
})

t.test('a thread that fails ends the process, and what waits learns of it', async t => {
  const { find, emitter } = begin()
  const waiting = find('a')
  await turn()
  const failed = { message: "the store's thread failed", cause: { message: 'a bug' } }
  t.throws(() => emitter.emit('error', new Error('a bug')), failed)
  emitter.emit('exit', 1)
  const unavailable = { name: 'StoreUnavailable', message: failed.message, cause: failed }
  await t.rejects(waiting, unavailable)
  await t.rejects(find('b'), unavailable, 'the first reason stays')
})

t.test('a backup and the end are passed on; a failure in the background is logged', async t => {
  const { told, say, exit, log, backUp, close } = begin()
  const first = backUp('one')
  await t.rejects(backUp('two'), { name: 'StoreUnavailable', message: 'a backup is being made already' })
  say({ is: 'replies', batch: 1, replies: { undone: { is: 'unavailable', message: 'no room' } } })
  await t.rejects(first, { name: 'StoreUnavailable', message: 'no room' })
  const third = backUp('three')
  say({ is: 'replies', batch: 2, replies: { values: [], failures: [] } })
  await third
  say({ is: 'background-failure', doing: 'prune', message: 'it is locked' })
  t.same(log, [{ doing: 'prune', message: 'it is locked' }])
  const closing = close()
  await turn()
  t.same(told, [{ batch: 1, backUpTo: 'one' }, { batch: 2, backUpTo: 'three' }, Object('close')])
  let isClosed = false
  void closing.then(() => (isClosed = true))
  await turn()
  t.equal(isClosed, false, 'it waits for the end')
  exit()
  await closing
})

async function open(t: Test, first: MessageFromWorker | Error, clock = testClock()) {
  let given: unknown
  const { thread, emitter, say, exit, told } = play()
  const outbox = createSqliteOutbox({
    path: `${t.testdirName}/new/outbox.db`,
    clock,
    enterprise: { corpId: 'acme' },
    storeKeys: STORE.storeKeys,
    maxBacklog: 9,
    retentionDays: 3,
    keepsEvents: true,
    startThread(settings) {
      given = settings
      setImmediate(() => (first instanceof Error ? emitter.emit('error', first) : say(first)))
      return thread
    },
  })
  return { outbox: await outbox, exit, told, given }
}

t.test('what the thread says first', async t => {
  t.testdir({})
  const clock = testClock()
  const loss = { messages: 2, from: null, until: NOON, noticedAt: NOON }
  const { outbox, exit, told, given } = await open(t, { is: 'open', loss }, clock)
  t.same(given, {
    path: `${t.testdirName}/new/outbox.db`,
    enterprise: { corpId: 'acme' },
    payloadKeys: STORE.storeKeys.payloadKeys,
    maxBacklog: 9,
    retentionDays: 3,
    keepsEvents: true,
    now: NOON,
    emptyWalEveryMs: 60_000,
  })
  t.same(outbox.loss?.(), loss)
  clock.advance(86_399_999)
  t.same(outbox.loss?.(), loss)
  clock.advance(1)
  t.equal(outbox.loss?.(), null, 'after a day nobody needs it any more')
  const closing = outbox.close()
  await turn()
  t.same(told, [Object('close')])
  exit()
  await closing
  const ends = await Promise.allSettled([
    outbox.beginAttempt('id', lease(clock)),
    outbox.memos.writeMemo({ name: 'ann', value: '1', expiresAt: NOON }),
    outbox.events?.addEvent({ type: 'provider.up', at: NOON }),
    outbox.events?.removeEvents([1]),
  ])
  const gone = { status: 'rejected', reason: { name: 'StoreUnavailable' } }
  t.match(ends, [gone, gone, gone, gone], 'what gives nothing tells its failure all the same')
  const cause = new Error('of the disk')
  await t.rejects(open(t, { is: 'unusable', words: 'it is damaged', cause }), {
    name: 'StoreUnusable',
    message: 'it is damaged',
    cause,
  })
  await t.rejects(open(t, cause), {
    name: 'StoreUnusable',
    message: "the store's thread did not start",
    cause,
  })
})

t.test(
  'only what waited for the disk is told as a commit: no mark of an attempt, and nothing that reads',
  async t => {
    const clock = testClock()
    const commits: { readonly calls: number; readonly ms: number }[] = []
    const outbox = await createSqliteOutbox({
      ...STORE,
      path: `${t.testdir({})}/outbox.db`,
      clock,
      keepsEvents: true,
      onCommit: commit => commits.push(commit),
      startThread: serveHere,
    })
    const held = lease(clock)
    const given = sample(clock, { lease: held })
    const { id } = given.message
    await outbox.accept([given])
    t.match(commits, [{ calls: 1 }])
    t.ok(commits.every(({ ms }) => ms > 0))
    await outbox.beginAttempt(id, held, 'smtp')
    await outbox.queries.findMessage(id)
    await outbox.queries.readSummary(0)
    await outbox.queries.listMessages({ limit: 1 })
    await outbox.queries.readEnded(0, 0)
    await outbox.queries.readWaiting('email', [])
    await outbox.memos.readMemos(['ann'])
    await outbox.events?.readEvents(1)
    t.equal(commits.length, 1)
    await outbox.settle(id, held, { to: 'final', state: 'sent', answer: null })
    t.equal(commits.length, 2)
    await outbox.close()
  },
)
