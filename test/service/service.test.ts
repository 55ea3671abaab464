import { connect, Server } from 'node:net'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { drain, openListeners } from '../../src/service/service.ts'
import type { ServiceParts } from '../../src/service/wiring.ts'
import { enough, load } from '../config/settings.ts'
import { listen } from '../rigs/listen.ts'
import { enterVirtualTime } from '../rigs/virtual-time.ts'

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
  const parts = {
    publicListener: listener('public'),
    adminListener: listener('admin'),
    waiting: isWaiting ? listener('waiting') : null,
    delivery: { stop: noting('delivery: stop') },
    bringing: [{ stop: noting('alerts: stop', 20) }, { stop: noting('mailbox: stop', 30) }],
    webhooks: { stop: noting('webhooks: stop', 40) },
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
  t.same(steps, [
    '0 ending',
    '0 drains',
    '0 alerts: stop',
    '0 mailbox: stop',
    '20 alerts: stop: done',
    '30 mailbox: stop: done',
    '5000 public: takes no more',
    '5300 public: close',
    '5300 delivery: stop 6000 2000',
    '5310 delivery: stop: done',
    '5310 webhooks: stop',
    '5340 public: close: done',
    '5340 public: hangs up',
    '5350 webhooks: stop: done',
    '5350 parts: close',
    '5360 parts: close: done',
    '5360 admin: close',
    '5400 admin: close: done',
    '5400 ended',
  ])
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
  t.same(
    steps.filter(step => / (?:public|delivery|parts|admin|ended)/.test(step)),
    [
      '0 public: close',
      '30 delivery: stop 6000 2000',
      '40 delivery: stop: done',
      '540 public: hangs up',
      '540 parts: close',
      '550 parts: close: done',
      '550 admin: close',
      '60000 public: close: done',
      '60550 admin: close: done',
      '60550 ended',
    ],
  )
})

const places = { HOST: '127.0.0.2', PORT: '8444', ADMIN_HOST: '127.0.0.3', ADMIN_PORT: '9091' }
const config = load({ ...enough, ...places })

t.test('the public listener opens last, and the private one on the port of the one that waited', async t => {
  const opened = async (isWaiting: boolean) => {
    const { end, steps, given } = notingParts(t, 40, isWaiting)
    await end(openListeners(given, config))
    return steps
  }
  t.same(await opened(false), [
    '0 admin: listen {"host":"127.0.0.3","port":9091,"reusePort":false}',
    '10 admin: listen: done',
    '10 public: listen {"host":"127.0.0.2","port":8444,"backlog":1024}',
    '20 public: listen: done',
  ])
  t.same(await opened(true), [
    '0 admin: listen {"host":"127.0.0.3","port":9091,"reusePort":true}',
    '10 admin: listen: done',
    '10 waiting: takes no more',
    '310 waiting: close',
    '350 waiting: close: done',
    '350 public: listen {"host":"127.0.0.2","port":8444,"backlog":1024}',
    '360 public: listen: done',
  ])
})

t.test('when a port is taken everything is closed again', async t => {
  const { end, steps, parts, given } = notingParts(t, 40)
  parts.publicListener.listen = async () => {
    throw new Error('EADDRINUSE')
  }
  t.equal(await end(openListeners(given, config).catch((error: Error) => error.message)), 'EADDRINUSE')
  t.same(steps.slice(2), [
    '10 public: close',
    '10 admin: close',
    '50 public: close: done',
    '50 admin: close: done',
    '50 parts: close',
    '60 parts: close: done',
  ])
})
