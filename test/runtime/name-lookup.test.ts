import type { LookupAddress } from 'node:dns'
import t from 'tap'
import { createNameLookup, findAddresses } from '../../src/runtime/name-lookup.ts'
import { startDnsServer } from '../rigs/dns-server.ts'

const A = { address: '192.0.2.1', family: 4 }
const B = { address: '192.0.2.2', family: 4 }
const NOBODY = 'nobody.example.invalid'
const V6 = { address: '2001:db8::1', family: 6 }
const failure = (code: string) => Object.assign(new Error(code), { code })

/** A look-up whose answers the test gives. */
function start(patienceMs = 30) {
  const questions: PromiseWithResolvers<readonly LookupAddress[]>[] = []
  const lookUp = createNameLookup(() => {
    const question = Promise.withResolvers<readonly LookupAddress[]>()
    questions.push(question)
    return question.promise
  }, patienceMs)
  const ask = (options: { all?: boolean; family?: number } = { all: true }) =>
    new Promise<unknown>(resolve =>
      lookUp('mail.example.com', options, (error, found) => resolve(error?.code ?? found)),
    )
  return { questions, ask }
}

t.test('all who ask for a host at a time share one question', async t => {
  const { questions, ask } = start()
  const asked = [ask(), ask({ family: 4 }), ask({ all: true, family: 6 }), ask({})]
  t.equal(questions.length, 1)
  questions[0]?.resolve([V6, A])
  t.same(await Promise.all(asked), [[V6, A], A.address, [V6], V6.address])
  const again = ask({ all: true, family: 4 })
  t.equal(questions.length, 2, 'the next one is asked anew')
  questions[1]?.resolve([V6])
  t.equal(await again, 'ENOTFOUND', 'it has no such address')
})

t.test('silence is answered with the last addresses, and a gone name is not', async t => {
  const { questions, ask } = start()
  const settled = () => new Promise(resolve => setImmediate(resolve))
  const first = ask()
  questions[0]?.resolve([A])
  t.same(await first, [A])
  t.same(await ask(), [A], 'after some patience')
  const late = (ms: number) => new Promise(resolve => setTimeout(resolve, ms, 'late'))
  t.same(await Promise.race([ask(), late(20)]), [A], 'and without it')
  t.equal(questions.length, 2, 'one question goes on')
  questions[1]?.reject(failure('EAI_AGAIN'))
  await settled()
  t.same(await ask(), [A])
  t.equal(questions.length, 3, 'then it is asked again')
  questions[2]?.resolve([B])
  await settled()
  const next = ask()
  questions[3]?.resolve([B])
  t.same(await next, [B], 'the servers speak again')
  const broken = ask()
  questions[4]?.reject(failure('EAI_AGAIN'))
  t.same(await broken, [B], 'a failure of the servers is silence, too')
  t.same(await Promise.race([ask(), late(20)]), [B], 'which is remembered')
  questions[5]?.reject(failure('ENOTFOUND'))
  await settled()
  const gone = ask()
  questions[6]?.reject(failure('EAI_AGAIN'))
  t.equal(await gone, 'EAI_AGAIN', 'the name was gone, and its address with it')
})

t.test('an address that was found more than a day ago may be another host’s by now', async t => {
  const { questions, ask } = start()
  let days = 0
  const now = performance.now.bind(performance)
  performance.now = () => now() + days * 86_400_000
  t.teardown(() => void (performance.now = now))
  const first = ask()
  questions[0]?.resolve([A])
  await first
  for (const [at, found] of [
    [0.9, [A]],
    [1.1, 'EAI_AGAIN'],
  ] as const) {
    days = at
    const asked = ask()
    questions.at(-1)?.reject(failure('EAI_AGAIN'))
    t.same(await asked, found, `after ${at} days`)
  }
})

t.test('a host is found as the system finds it', async t => {
  const server = await startDnsServer(t, {
    'mail.example.com': A.address,
    'db.prod.svc.test': B.address,
    'db.prod': A.address,
    'odd.example.com': A.address,
  })
  const files: Record<string, string> = {
    '/etc/hosts':
      '192.0.2.7\trelay Mail.Local # old: relay2\n2001:db8::7 relay\n# 192.0.2.9 odd.example.com\nnonsense odd.example.com\n',
    '/etc/resolv.conf':
      'nameserver 192.0.2.53\nsearch old.test\nsearch prod.svc.test svc.test\noptions rotate ndots:2\n',
  }
  const find = (name: string) => findAddresses(name, path => files[path] ?? '')

  t.same(await find('RELAY'), [
    { address: '192.0.2.7', family: 4 },
    { address: '2001:db8::7', family: 6 },
  ])
  t.same(await find('mail.local'), [{ address: '192.0.2.7', family: 4 }])
  t.same(await find('localhost'), [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ])
  t.same(server.asked, [], 'the hosts file needs no server')

  t.same(await find('odd.example.com'), [A], 'a remark is no entry')
  t.same(await find('mail.example.com'), [A])
  t.same(await find('db'), [B], 'in a search domain')
  t.same(await find('db.prod'), [B], 'with few dots, search domains come first')
  t.same(await find('db.prod.'), [A], 'unless it ends in one')
  await t.rejects(find(NOBODY), { code: /ENOTFOUND|EAI_AGAIN/ })
  // Each is asked for by its families. A name of enough dots is complete; unless it is there, its search domains are asked, too.
  t.same(
    server.asked.filter((name, at, all) => name !== all[at - 1]).join(' '),
    `odd.example.com mail.example.com db.prod.svc.test db.prod.prod.svc.test db.prod.svc.test db.prod ${NOBODY} ${NOBODY}.prod.svc.test ${NOBODY}.svc.test`,
  )

  for (const domain of ['db.prod.prod.svc.test', 'db.prod.svc.test']) server.broken.add(domain)
  t.same(await find('db.prod'), [A], 'search domains that are out of order hide no host')
  const limits = t.capture(globalThis, 'setTimeout', setTimeout)
  await t.rejects(find('db.prod.svc.test'), {
    code: 'EAI_AGAIN',
    message: 'the DNS does not answer for db.prod.svc.test',
  })
  t.ok(limits().some(({ args }) => args[1] === 4000))
  const forbidden = () => {
    throw failure('EACCES')
  }
  t.same(await findAddresses('db.prod', forbidden), [A], 'files that cannot be read say nothing')
})
