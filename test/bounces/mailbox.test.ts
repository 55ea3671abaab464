import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { quote } from '../../src/language/sentence.ts'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'
import { startImap } from '../rigs/imap-server.ts'
import { until } from '../rigs/service.ts'
import { enterVirtualTime } from '../rigs/virtual-time.ts'
import { startMailbox } from './mailbox-rig.ts'

const REPORT = 'Content-Type: multipart/report; report-type=delivery-status\r\n\r\n'
const LETTER = 'Subject: Hello\r\n\r\nWhere is my code?\r\n'

/** Mails with these uids. */
const mailsOf = (uids: readonly number[], mail = REPORT) => uids.map(uid => [uid, mail] as const)
const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1)

/** What is taken, by uid: each report has its own as its body. */
function createTaker() {
  const taken: string[] = []
  const take = async (message: Uint8Array) => {
    taken.push(String(message).split('\r\n\r\n')[1] ?? '')
    return true
  }
  return { taken, take }
}

t.test(
  'a report is moved where the folder is there already, however the server says so; many at once leave nothing behind',
  async t => {
    const server = await startImap(t, mailsOf([1, 2]))
    const warnings: string[] = []
    const warned = (warning: Error) => void warnings.push(warning.message)
    process.on('warning', warned)
    t.teardown(() => process.off('warning', warned))
    const { events } = startMailbox(t, server.port, { take: async () => true })
    await until(() => server.moved.length === 2, 'both reports are moved')
    await until(() => events.length > 0, 'it is said')
    // A report that comes while the others are read is found with the next one.
    for (let uid = 3; uid <= 20; uid += 1) {
      server.mails.set(uid, REPORT)
      server.say(`* ${server.mails.size} EXISTS\r\n`)
      if (uid % 5 === 0) await until(() => server.moved.includes(uid - 2), `${uid} of them`)
    }
    await until(() => server.moved.length === 20, 'all that came are moved')
    t.match(events, [{ is: 'open' }])
    t.same(warnings, [])
    server.renew(mailsOf([1]))
    await until(() => events.filter(({ is }) => is === 'open').length > 1, 'it is read again')
    t.equal(server.moved.length, 21, 'what was read in the one before says nothing of it')
  },
)

t.test('a server that cannot move a mail keeps it where it is', async t => {
  const server = await startImap(t, mailsOf([1]), (verb, tag) =>
    verb === 'GREETING'
      ? '* OK hello\r\n'
      : verb === 'CAPABILITY'
        ? `* CAPABILITY IMAP4rev1 AUTH=PLAIN\r\n${tag} OK\r\n`
        : undefined,
  )
  const { events } = startMailbox(t, server.port, { take: async () => true })
  await until(() => events.length > 0, 'it is read')
  t.match(events, [{ is: 'open' }])
  t.equal(server.count(/ FETCH /), 2)
  t.equal(server.count(/MOVE|COPY|STORE|EXPUNGE|CREATE/), 0)
})

t.test('a report of a server that explains itself at length is read whole', async t => {
  const report = REPORT + 'x'.repeat(100_000)
  const server = await startImap(t, [[1, report]])
  const { taken, take } = createTaker()
  startMailbox(t, server.port, { take })
  await until(() => server.moved.length === 1, 'it is moved')
  t.same(
    taken.map(text => text.length),
    [100_000],
  )
})

t.test('however long the fields of a mail are, it is read, and so are those behind it', async t => {
  const field = (name: string) => `${name}: text/plain; x="${'x'.repeat(95_000)}"\r\n`
  const server = await startImap(t, [
    [1, `${field('Content-Type').repeat(60)}\r\nx`],
    [2, `${field('X-Long').repeat(60)}${REPORT}`],
    [3, REPORT],
  ])
  const { events } = startMailbox(t, server.port, { take: async () => true })
  await until(() => server.moved.includes(3), 'the last one is moved')
  await until(() => events.length > 0, 'the look is over')
  t.match(events, [{ is: 'open' }])
  t.equal(server.count(/BODY\.PEEK\[[^\]]*\](?!<0\.(65536|131072)>)/), 0, 'it asks for no more than it needs')
})

t.test(
  'a mail that ends the connection each time is stepped over once others are read, and no other, not even one that does so once',
  async t => {
    let hasHungUp = false
    const server = await startImap(t, mailsOf(upTo(5)), (verb, _tag, line) => {
      const isOnce = /FETCH 6 /.test(line) && !hasHungUp
      if (verb !== 'FETCH' || (!isOnce && !/FETCH (\d+,)*3[ ,]/.test(line))) return undefined
      hasHungUp ||= isOnce
      server.hangUp()
      return ''
    })
    const { events, rests, stored } = startMailbox(t, server.port, { take: async () => true })
    await until(() => events.some(({ is }) => is === 'open'), 'a look is completed')
    t.same(server.moved, [1, 2, 4, 5])
    t.equal(server.count(/FETCH (\d+,)*3[ ,]/), 3)
    t.same(
      rests.filter(ms => ms >= 2000),
      [2000, 4000, 8000],
    )
    t.equal(stored.get('n'), '{"validity":"7","uid":5}')
    server.mails.set(6, REPORT)
    server.say('* 2 EXISTS\r\n')
    await until(() => events.filter(({ is }) => is === 'open').length > 1, 'the next look is completed')
    t.ok(hasHungUp)
    t.same(server.moved, [1, 2, 4, 5, 6])
  },
)

t.test('a mail whose reading fails is stepped over; one that the store cannot take is not', async t => {
  const server = await startImap(
    t,
    upTo(3).map(uid => [uid, `${REPORT}${uid}`]),
  )
  const tried: string[] = []
  const { mailbox, events } = startMailbox(t, server.port, {
    async take(message) {
      const uid = String(message).slice(REPORT.length)
      tried.push(uid)
      if (uid === '1') throw new TypeError('canary')
      if (uid === '2' && tried.length < 8) throw new StoreUnavailable(quote('x'))
      return true
    },
  })
  await until(() => events.some(({ is }) => is === 'open'), 'a look is completed')
  t.same(tried, ['1', '1', '2', '2', '2', '2', '2', '2', '3', '1'])
  t.same(server.moved, [2, 3])
  t.equal(mailbox.status().failing, null)
})

t.test('a server that gives no mail for hours loses none, however many are bad', async t => {
  const hasGone = new Set<string>()
  let failsFor = 20
  const server = await startImap(t, mailsOf(upTo(4)), (verb, tag, line) => {
    const [, uids = ''] = /FETCH ([\d,]+)/.exec(line) ?? []
    if (verb !== 'FETCH' || (failsFor === 0 && !/\b[23]\b/.test(uids))) return undefined
    failsFor = Math.max(0, failsFor - 1)
    hasGone.add(uids)
    return `${tag} NO [UNAVAILABLE] x\r\n`
  })
  const { mailbox, events, stored } = startMailbox(t, server.port, { take: async () => true })
  const isOpen = () => events.some(({ is }) => is === 'open')
  await until(() => failsFor === 0 || isOpen(), 'the server is there again')
  t.notOk(isOpen(), 'nothing was stepped over')
  t.equal(stored.get('n'), '{"validity":"7","uid":0}')
  await until(isOpen, 'a look is completed')
  t.same(
    server.moved.toSorted((a, b) => a - b),
    [1, 4],
    'those that can be read are',
  )
  t.same([...hasGone], ['1,2,3,4', '1', '2', '3', '4'])
  t.equal(stored.get('n'), '{"validity":"7","uid":4}')
  t.equal(mailbox.status().failing, null)
})

t.test('a mail that is alone is asked for until another one is read', async t => {
  const server = await startImap(t, mailsOf([1]), (verb, tag, line) =>
    verb === 'FETCH' && /FETCH (\d+,)*1[ ,]/.test(line) ? `${tag} NO x\r\n` : undefined,
  )
  const { mailbox, events } = startMailbox(t, server.port, { take: async () => true })
  await until(() => server.count(/FETCH 1 /) > 5 || events.some(({ is }) => is === 'open'), 'it is asked for')
  t.equal(mailbox.status().failing?.reason, 'the server refuses to open or to read the folder')
  server.mails.set(2, LETTER)
  await until(() => events.some(({ is }) => is === 'open'), 'a look is completed')
})

for (const [what, verbs] of [
  ['the folder', ['FETCH']],
  ['the login', ['LOGIN', 'AUTHENTICATE']],
] as const)
  t.test(
    `the server refuses ${what}: it rests for a minute at most, since each try logs in, until a look is completed`,
    async t => {
      let refuses = true
      let now = 1000
      const server = await startImap(t, mailsOf([1], LETTER), (verb, tag) =>
        refuses && verbs.some(each => each === verb) ? `${tag} NO [AUTHENTICATIONFAILED] x\r\n` : undefined,
      )
      // One mail that cannot be read is stepped over; here all of them cannot.
      const add = () => server.mails.set(server.mails.size + 1, LETTER)
      const { mailbox, events, rests } = startMailbox(t, server.port, {
        clock: {
          now() {
            add()
            return (now += 1)
          },
        },
      })
      const pauses = () => rests.filter(ms => ms >= 2000)
      await until(() => pauses().length >= 7, 'it is tried again and again')
      t.same(pauses().slice(0, 7), [2000, 4000, 8000, 16_000, 32_000, 48_000, 48_000])
      t.ok((mailbox.status().failing?.since ?? 0) < 1010, 'that it connects in between says nothing')
      refuses = false
      await until(() => events.some(({ is }) => is === 'open'), 'it is read')
      t.equal(mailbox.status().failing, null)
      const before = pauses().length
      refuses = true
      server.hangUp()
      await until(() => pauses().length > before, 'it fails once more')
      t.equal(pauses()[before], 2000)
    },
  )

t.test(
  'another process goes on where the last one ended, and reads again what could not be stored',
  async t => {
    const server = await startImap(t, mailsOf(upTo(120), LETTER))
    const stored = new Map<string, string>()
    const one = startMailbox(t, server.port, { stored })
    await until(() => one.events.length > 0, 'all are read')
    await one.mailbox.stop()
    t.equal(server.count(/UID FETCH/), 3, 'some heads at a time')

    server.mails.set(121, `${REPORT}121`)
    const failing = startMailbox(t, server.port, {
      stored,
      take: () => Promise.reject(new StoreUnavailable(quote('x'))),
    })
    await until(() => failing.events.length > 0, 'it is said')
    t.match(failing.events[0], { is: 'failed', reason: 'the store cannot take reports now' })
    await failing.mailbox.stop()
    const { taken, take } = createTaker()
    const next = startMailbox(t, server.port, { stored, take })
    await until(() => next.events.length > 0, 'it is read')
    await next.mailbox.stop()
    t.same(taken, ['121'])
    t.equal(server.count(/FETCH (?!121 )/), 3, 'no other mail is asked for again')
    one.mailbox.start()
    await until(() => one.events.length > 1, 'the first one leads again')
    t.match(
      server.commands.findLast(line => / SEARCH /.test(line)),
      / UID 122:\*$/,
      'and goes on from there',
    )
    await one.mailbox.stop()

    server.renew(mailsOf([1]))
    const anew = startMailbox(t, server.port, { stored, take: async () => true })
    await until(() => anew.events.length > 0, 'it is read')
    t.equal(server.moved.at(-1), 1, 'a mailbox that was made anew is read from its beginning')
    await anew.mailbox.stop()
  },
)

t.test('however many mails a server names or announces, it rests after some', async t => {
  const server = await startImap(t, mailsOf(upTo(40)), (verb, tag) => {
    if (verb !== 'SEARCH') return undefined
    // And a mail is announced with each command.
    return `* SEARCH ${upTo(300_000).join(' ')}\r\n* ${server.commands.length + 100} EXISTS\r\n${tag} OK\r\n`
  })
  let goOn = Promise.withResolvers<void>()
  const rests: number[] = []
  const { mailbox } = startMailbox(t, server.port, {
    take: async () => true,
    pause(ms) {
      rests.push(ms)
      return goOn.promise
    },
  })
  const asked: (readonly number[])[] = []
  for (let rest = 1; rest <= 45; rest += 1) {
    await until(() => rests.length === rest, `rest ${rest}`)
    asked.push([/SEARCH/, /UID FETCH \d+,/, /UID FETCH \d+ /].map(server.count))
    const { resolve } = goOn
    goOn = Promise.withResolvers()
    resolve()
  }
  // One search, then some heads and each report among them, then some heads after each rest.
  const expected = [...upTo(40).map(n => [1, 1, n]), [1, 1, 40], ...upTo(4).map(n => [1, 1 + n, 40])]
  t.same(asked, expected)
  t.ok(rests.every(ms => ms >= 50))
  const stopped = mailbox.stop()
  goOn.resolve()
  await stopped
})

t.test('a server that announces mails without end is asked nothing in a rest, and left after it', async t => {
  const server = await startImap(t, mailsOf([1], LETTER))
  const searchesInRests: number[] = []
  const { mailbox, events } = startMailbox(t, server.port, {
    async pause(ms) {
      if (ms !== 500) return
      const before = server.count(/SEARCH/)
      const other = upTo(6000).map(count => `* ${count} EXISTS\r\n`)
      server.say(`${other.join('')}${'* 7 EXISTS\r\n'.repeat(6000)}`)
      await sleep(ms)
      searchesInRests.push(server.count(/SEARCH/) - before)
    },
  })
  await until(() => events.some(({ is }) => is === 'failed'), 'it is left')
  await mailbox.stop()
  t.match(
    events.find(({ is }) => is === 'failed'),
    { reason: 'the server talks without end' },
  )
  t.ok(searchesInRests.every(count => count === 0))
})

t.test('it looks once a minute at the mails of a week, and says once that the mailbox is open', async t => {
  const NOW = Date.UTC(2026, 10, 20)
  const { tick } = enterVirtualTime(t)
  const server = await startImap(t, mailsOf([1], LETTER))
  const seen: (readonly number[])[] = []
  const ttls: number[] = []
  const { mailbox, events, expiries } = startMailbox(t, server.port, {
    clock: { now: () => NOW },
    async takeLease(ttlMs) {
      if (ttlMs === 0) await sleep(20)
      return ttls.push(ttlMs) > 0
    },
    async pause(ms) {
      seen.push([ms, server.count(/ SEARCH /), events.length])
      tick(ms)
    },
  })
  await until(() => seen.length > 241 || events.at(-1)?.is === 'failed', 'the third look')
  await mailbox.stop()
  t.same(
    [0, 1, 120, 121, 240, 241].map(at => seen[at]),
    [
      [50, 1, 0],
      [500, 1, 1],
      [500, 1, 1],
      [500, 2, 1],
      [500, 2, 1],
      [500, 3, 1],
    ],
  )
  t.match(
    server.commands.find(line => / SEARCH /.test(line)),
    'SEARCH SINCE 13-Nov-2026 UID 1:*',
  )
  t.same(expiries, [NOW + 14 * 86_400_000, NOW + 14 * 86_400_000])
  t.same([...new Set(ttls)], [30_000, 0])
})

t.test('a server is given a minute for an answer', async t => {
  const { pass, tick } = enterVirtualTime(t)
  const server = await startImap(t, mailsOf([1], LETTER), verb => (verb === 'SEARCH' ? '' : undefined))
  const pause = (_ms: number, signal: AbortSignal) =>
    new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
  const { events } = startMailbox(t, server.port, { pause })
  await until(() => server.count(/ SEARCH /) === 1, 'it asks')
  tick(59_999)
  await pass(0)
  t.same([events.length, server.connections()], [0, 1])
  tick(1)
  await until(() => events.length > 0, 'it gives up')
  t.match(events, [{ is: 'failed', reason: 'the connection ended before the answer did' }])
})
