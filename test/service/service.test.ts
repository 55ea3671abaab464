import { readFileSync } from 'node:fs'
import { connect, Server } from 'node:net'
import { join } from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { drain, startParts } from '../../src/service/service.ts'
import type { ServiceParts } from '../../src/service/wiring.ts'
import { enough, load } from '../config/settings.ts'
import { listen } from '../rigs/listen.ts'
import { enterVirtualTime } from '../rigs/virtual-time.ts'

const RECORD = join(import.meta.dirname, '../fixtures/service-steps.txt')

/** The steps of a service that does this, by the fixture: a line each, behind the line that says what it does. */
function recorded(what: string): readonly string[] {
  const [, steps = ''] = readFileSync(RECORD, 'utf8').split(`${what}:\n`)
  return (steps.split('\n\n')[0] ?? '').trim().split(/\n\s*/)
}

/** Parts that note what is asked of them, and when; each takes 10 ms for it, but for the listeners, which take as long as is said. */
function notingParts(t: Test, closingMs: number, isWaiting = false) {
  const time = enterVirtualTime(t)
  const steps: string[] = []
  const note = (step: string) => void steps.push(`${time.now()} ${step}`)
  const later = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))
  const noting =
    (name: string, ms = 10) =>
    async (...given: readonly unknown[]) => {
      note(`${name}${given.map(each => ` ${JSON.stringify(each)}`).join('')}`)
      await later(ms)
      note(`${name}: done`)
    }
  const listener = (name: string) => {
    const server = new Server().once('close', () => note(`${name}: takes no more`))
    const closeAllConnections = () => note(`${name}: hangs up`)
    return {
      server: Object.assign(server, { closeAllConnections }),
      listen: noting(`${name}: listen`),
      close: noting(`${name}: close`, closingMs),
    }
  }
  const part = (name: string, ms = 10) => ({
    start: () => note(`${name}: start`),
    stop: noting(`${name}: stop`, ms),
  })
  const parts = {
    publicListener: listener('public'),
    adminListener: listener('admin'),
    waiting: isWaiting ? listener('waiting') : null,
    delivery: part('delivery'),
    bringing: [part('alerts', 20), part('mailbox', 30)],
    webhooks: part('webhooks', 40),
    beginDraining: () => note('drains'),
    close: noting('parts: close'),
  }
  /** Lets time pass until it is over. */
  const end = async <T>(action: Promise<T>): Promise<T> => {
    let isOver = false
    const over = action.finally(() => (isOver = true))
    while (!isOver) await time.pass(10)
    return over
  }
  const log = pino({ base: null }, { write: line => note(String(JSON.parse(line).event)) })
  return { time, end, steps, log, parts, given: parts as unknown as ServiceParts }
}

t.test('an end finishes what is there, and closes nothing that something else still needs', async t => {
  const { end, steps, log, given } = notingParts(t, 40)
  await end(drain(given, 5000, log))
  t.same(steps, recorded('ends'))
})

t.test('who had connected when it takes no more is let in all the same', async t => {
  const afterTimers = setTimeout
  const { time, end, log, parts, given } = notingParts(t, 0)
  const { server } = parts.publicListener
  const port = await listen(t, server)
  let accepted = 0
  server.on('connection', () => (accepted += 1))
  const over = drain(given, 5000, log)
  await new Promise<void>(resolve =>
    afterTimers(() => {
      connect(port, '127.0.0.1').on('error', () => {})
      time.tick(5000)
      resolve()
    }, 1),
  )
  await end(over)
  t.equal(accepted, 1)
})

t.test('told to end at once it gives nobody time to notice, and its last answers half a second', async t => {
  const { end, steps, log, given } = notingParts(t, 60_000)
  await end(drain(given, 0, log))
  t.same(steps, recorded('ends at once'))
})

const places = { HOST: '127.0.0.2', PORT: '8444', ADMIN_HOST: '127.0.0.3', ADMIN_PORT: '9091' }
const config = load({ ...enough, ...places })

t.test('the public listener opens last, the private one where another waited, then all starts', async t => {
  const opened = async (isWaiting: boolean) => {
    const { end, steps, given } = notingParts(t, 40, isWaiting)
    await end(startParts(given, config))
    return steps
  }
  t.same(await opened(false), recorded('starts'))
  t.same(await opened(true), recorded('starts after another waited'))
})

t.test('when a port is taken everything is closed again', async t => {
  const { end, steps, parts, given } = notingParts(t, 40)
  parts.publicListener.listen = async () => {
    throw new Error('EADDRINUSE')
  }
  t.equal(await end(startParts(given, config).catch((error: Error) => error.message)), 'EADDRINUSE')
  t.same(steps, recorded('finds its port taken'))
})
