import dns, { type LookupAddress } from 'node:dns'
import { readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { isIP } from 'node:net'
import os from 'node:os'
import t from 'tap'
import { createNameLookup, findAddresses } from '../../src/runtime/name-lookup.ts'
import { startDnsServer } from '../rigs/dns-server.ts'
import { enterVirtualTime } from '../rigs/virtual-time.ts'

const A = { address: '192.0.2.1', family: 4 }
const B = { address: '192.0.2.2', family: 4 }
const NOBODY = 'nobody.example.invalid'
const V6 = { address: '2001:db8::1', family: 6 }
const failure = (code: string) => Object.assign(new Error(code), { code })

/** A look-up whose answers the test gives. */
function start() {
  const questions: PromiseWithResolvers<readonly LookupAddress[]>[] = []
  const lookUp = createNameLookup(() => {
    const question = Promise.withResolvers<readonly LookupAddress[]>()
    questions.push(question)
    return question.promise
  })
  const ask = (options: { all?: boolean; family?: number | 'IPv4' | 'IPv6' } = { all: true }) =>
    new Promise<unknown>(resolve =>
      lookUp('mail.example.com', options, (error, found, of) =>
        resolve(error?.code ?? (of ? [found, of] : found)),
      ),
    )
  return { questions, ask }
}

t.test('all who ask for a host at a time share one question', async t => {
  const { questions, ask } = start()
  const asked = [
    ask(),
    ask({ family: 'IPv4' }),
    ask({ all: true, family: 6 }),
    ask({}),
    ask({ family: 'IPv6' }),
  ]
  t.equal(questions.length, 1)
  questions[0]?.resolve([V6, A])
  t.same(await Promise.all(asked), [[V6, A], [A.address, 4], [V6], [V6.address, 6], [V6.address, 6]])
  const again = ask({ all: true, family: 4 })
  t.equal(questions.length, 2, 'the next one is asked anew')
  questions[1]?.resolve([V6])
  t.equal(await again, 'ENOTFOUND', 'it has no such address')
})

t.test('silence is answered with the last addresses, and a gone name is not', async t => {
  const { pass } = enterVirtualTime(t)
  const { questions, ask } = start()
  const said: unknown[] = []
  const note = () => void ask().then(found => said.push(found))
  note()
  questions[0]?.resolve([A])
  await pass(0)
  note()
  await pass(999)
  t.same(said, [[A]])
  await pass(1)
  t.same(said, [[A], [A]], 'after some patience')
  note()
  await pass(1)
  t.same(said.splice(0), [[A], [A], [A]], 'and without it')
  t.equal(questions.length, 2, 'one question goes on')
  // The servers speak again after the second answer; what they said last of the name is that it is gone.
  const answers = ['EAI_AGAIN', [B], [B], 'EAI_AGAIN', 'ENOTFOUND', 'EAI_AGAIN'] as const
  for (const [at, answer] of answers.entries()) {
    if (typeof answer === 'string') questions[at + 1]?.reject(failure(answer))
    else questions[at + 1]?.resolve(answer)
    await pass(0)
    if (at < 5) note()
    await pass(at === 1 || at === 2 ? 0 : 1)
  }
  t.same(said, [[A], [B], [B], [B], 'EAI_AGAIN'])
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
      '  192.0.2.7\trelay Mail.Local # old: relay2\n2001:db8::7 relay\n# 192.0.2.9 odd.example.com\nnonsense odd.example.com\n',
    '/etc/resolv.conf':
      'nameserver 192.0.2.53\nsearch old.test\n search prod.svc.test svc.test\noptions ndots:5\noptions rotate ndots:2\n',
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
  files['/etc/resolv.conf'] = 'domain svc.test'
  t.same(await find('db.prod'), [A], 'a name of two parts is complete unless the options say otherwise')
  const forbidden = () => {
    throw failure('EACCES')
  }
  t.same(await findAddresses('db.prod', forbidden), [A], 'files that cannot be read say nothing')
})

t.test('servers are asked for families that are in use here, and not for long', async t => {
  const { pass } = enterVirtualTime(t)
  const noted: string[] = []
  const [{ Resolver }, { networkInterfaces }] = [dns.promises, os]
  t.teardown(() => {
    Object.assign(dns.promises, { Resolver })
    Object.assign(os, { networkInterfaces })
    syncBuiltinESMExports()
  })
  const cases = [
    ['ETIMEOUT', '192.0.2.1', '2001:db8::1'],
    ['ECANCELLED', '192.0.2.1', 'fe80::1'],
    ['ESERVFAIL', '2001:db8::1'],
    ['ESERVFAIL'],
  ] as const
  for (const [code, ...addresses] of cases) {
    const answer = (asked: string) => {
      noted.push(asked)
      return new Promise((_, reject) => setTimeout(reject, 3000, failure(code)))
    }
    class Noting {
      resolve4 = (name: string) => answer(`A ${name}`)
      resolve6 = (name: string) => answer(`AAAA ${name}`)
      cancel = () => noted.push('cancelled')
      constructor(options: object) {
        noted.push(JSON.stringify(options))
      }
    }
    Object.assign(dns.promises, { Resolver: Noting })
    const at = (internal: boolean) => (ip: string) => ({ internal, address: ip, family: `IPv${isIP(ip)}` })
    const found = { lo: ['127.0.0.1', '::1'].map(at(true)), eth0: addresses.map(at(false)) }
    Object.assign(os, { networkInterfaces: () => found })
    syncBuiltinESMExports()
    findAddresses('db', () => 'search a.test').catch((error: Error) =>
      noted.push(`${error.message} ${JSON.stringify(error)}`),
    )
    await pass(10_000)
  }
  const expected = readFileSync(new URL('../fixtures/name-servers.txt', import.meta.url), 'utf8')
  t.same(noted, expected.trimEnd().split('\n'))
})
