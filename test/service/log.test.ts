import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { createLog, flushLog } from '../../src/service/log.ts'

t.test('the last line is written though a write is under way when it comes', async t => {
  const file = join(t.testdir({}), 'log')
  // As stdout is opened, but for the file.
  const destination = pino.destination({ dest: file, sync: false, minLength: 8192 })
  await new Promise(resolve => destination.once('ready', resolve))
  destination.write('first\n')
  destination.flush()
  destination.write('last\n')
  t.equal(await flushLog(destination, 5000), true)
  t.equal(readFileSync(file, 'utf8'), 'first\nlast\n')
  destination.end()
})

t.test('a reader who does not read is not waited for', async t => {
  t.equal(await flushLog({ flush: () => {} }, 20), false)
})

t.test('each line has the time at which it was written', async t => {
  const lines: string[] = []
  const log = createLog('info', { write: line => void lines.push(line) })
  const now = Date.now
  t.teardown(() => void (Date.now = now))
  for (const ms of [1, 1, 2]) {
    Date.now = () => Date.UTC(2026, 10, 20) + ms
    log.info('x')
  }
  t.same(
    lines.map(line => (JSON.parse(line) as { time: string }).time.slice(-5)),
    ['.001Z', '.001Z', '.002Z'],
  )
})
