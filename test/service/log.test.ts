import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { flushLog } from '../../src/service/log.ts'

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
