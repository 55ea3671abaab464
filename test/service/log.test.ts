import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { pino } from 'pino'
import t from 'tap'
import { createLog, flushLog, openStdout } from '../../src/service/log.ts'
import { enterVirtualTime } from '../rigs/virtual-time.ts'

t.test('the last line is written though a write is under way when it comes', async t => {
  const file = join(t.testdir({}), 'log')
  const time = enterVirtualTime(t)
  const destination = openStdout(file) as ReturnType<typeof pino.destination>
  await once(destination, 'ready')
  destination.write('zeroth\n')
  destination.flushSync()
  time.tick(199)
  t.equal(readFileSync(file, 'utf8'), '')
  time.tick(1)
  await once(destination, 'drain')
  t.equal(readFileSync(file, 'utf8'), 'zeroth\n', 'lines are written together, and soon')
  writeFileSync(file, '')
  destination.write('x'.repeat(8191))
  destination.write('\n')
  await once(destination, 'drain')
  t.equal(readFileSync(file, 'utf8').length, 8192, 'or so many characters')
  writeFileSync(file, 'zeroth\n')
  destination.write('first\n')
  destination.flush()
  destination.write('last\n')
  t.equal(await flushLog(destination, 5000), true)
  t.equal(readFileSync(file, 'utf8'), 'zeroth\nfirst\nlast\n')
  destination.end()
})

t.test('a reader who does not read is not waited for', async t => {
  t.equal(await flushLog({ flush: () => {} }, 20), false)
})

t.test('each line has its own time, and says of a fault what may be shown', async t => {
  const lines: string[] = []
  const destination = { write: (line: string) => lines.push(line) }
  createLog('debug', destination).debug('asked for')
  t.match(lines.pop(), /"asked for"/)
  const log = createLog('warn', destination)
  const before = Date.now()
  log.info('nobody asked')
  log.warn('first')
  while (Date.now() < before + 3) await new Promise(resolve => setTimeout(resolve, 1))
  log.error({ event: 'fault', err: { type: 'TypeError', code: 'ERR_X', stack: 'at x.ts' } }, 'second')
  const [first = '', second = ''] = lines.map(line => (JSON.parse(line) as { readonly time: string }).time)
  t.match(first, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  t.ok(Date.parse(first) >= before)
  t.ok(Date.parse(second) >= before + 3)
  t.equal(
    lines[1]?.replace(second, 'T'),
    '{"level":50,"time":"T","event":"fault","err":{"type":"TypeError","code":"ERR_X","stack":"at x.ts"},"message":"second"}\n',
  )
})
