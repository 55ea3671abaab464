import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type ServiceProcess, startProcess } from '../rigs/process.ts'
import { createCallbacks } from './callbacks.ts'
import { openBurst, rowsOf } from './ending.ts'

/** What a service says of a loss: in its log, `/readyz`, metrics and console. */
async function whatItSays(running: ServiceProcess) {
  const read = async (path: string) => (await fetch(`${running.adminUrl}${path}`)).text()
  const lines = running
    .stdout()
    .split('\n')
    .filter(line => line.includes('"store-loss"'))
  return {
    lines: lines.map(line => JSON.parse(line) as Record<string, unknown>),
    ready: JSON.parse(await read('/readyz')) as { readonly lost?: unknown },
    metric: Number(/^callback_courier_store_lost_messages (\d+)$/m.exec(await read('/metrics'))?.[1]),
    console: /(\d+) messages that were stored[^<]*are gone/.exec(await read('/console')),
  }
}

/**
 * A service answers 0 to so many mails, which wait, and is killed; on copies of what it leaves others are started.
 * @returns what one says that was started after `harm` was done to the WAL.
 */
async function playLoss(t: Test, count: number) {
  const { running, driver, sinks } = await openBurst(t, { ANSWER_WITHIN_MS: '100' })
  sinks.smtp.act = ({ step }) => (step === 'MAIL' ? { is: 'say', reply: '451 later' } : undefined)
  const callbackOf = createCallbacks()
  const callbacks = Array.from({ length: count }, () => callbackOf('email'))
  const answers = await driver.load(callbacks, 4)
  t.ok(
    answers.every(({ errCode }) => errCode === 0),
    `${count} answered 0`,
  )
  running.child.kill('SIGKILL')
  await running.exited
  let starts = 0
  return async (harm: (wal: string) => void) => {
    starts += 1
    const folder = join(sinks.directory, `copy-${starts}`)
    for (const file of ['', '-wal', '-watermark', '-attempts'])
      cpSync(join(sinks.directory, `outbox.db${file}`), join(folder, `outbox.db${file}`))
    const path = join(folder, 'outbox.db')
    harm(`${path}-wal`)
    const again = await startProcess(t, {
      ...sinks.settings,
      DATABASE_URL: `file:${path}`,
      PATH: process.env['PATH'] ?? '',
    })
    const said = await whatItSays(again)
    again.child.kill('SIGKILL')
    await again.exited
    return { ...said, there: rowsOf({ directory: folder }).length }
  }
}

/** That everybody says the same number of messages, none of which had been sent. */
function checkSaid(t: Test, said: Awaited<ReturnType<typeof whatItSays>>, lost: number): void {
  t.match(said.lines, [{ level: 50, messages: lost }], 'the log')
  t.equal(said.lines.length, 1, 'once')
  t.match(said.ready, { status: 'ready', lost: { messages: lost } })
  t.equal(said.metric, lost)
  t.same(said.console?.slice(1), [String(lost)])
}

t.test(
  'a WAL that is deleted, cut off or wrong after a kill: what is missing is said; a whole one: nothing',
  async t => {
    const count = 60
    const start = await playLoss(t, count)
    const whole = await start(() => {})
    t.match(whole, { lines: [], metric: 0, console: null, there: count })
    t.notOk('lost' in whole.ready)
    const deleted = await start(rmSync)
    t.equal(deleted.there, 0)
    checkSaid(t, deleted, count)
    const harms = {
      'cut off': (wal: string) => truncateSync(wal, readFileSync(wal).length / 2),
      'wrong in its middle': (wal: string) => {
        const bytes = readFileSync(wal)
        writeFileSync(wal, bytes.fill(0x5a, bytes.length / 2, bytes.length / 2 + 100))
      },
    }
    for (const [name, harm] of Object.entries(harms)) {
      const said = await start(harm)
      t.ok(said.there > 0 && said.there < count, `${name}: ${said.there} are there`)
      checkSaid(t, said, count - said.there)
    }
  },
)
