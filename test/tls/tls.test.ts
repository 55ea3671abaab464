import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Agent, createServer, type RequestOptions, request } from 'node:https'
import { syncBuiltinESMExports } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls, { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { withRemedy } from '../../src/language/sentence.ts'
import {
  type CertificateFlaw,
  followChain,
  loadCertificate,
  parseCertificate,
  readAuthorities,
  readCertificates,
  trustAuthorities,
  whyRefused,
} from '../../src/tls/certificate.ts'
import { type CertificateWatch, tlsServerOptions, watchCertificate } from '../../src/tls/watch.ts'
import { makeCertificate, makeChain, type Pair } from './authority.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const told = (flaws: readonly CertificateFlaw[]) =>
  flaws.map(({ sentence, remedy }) => String(withRemedy(sentence, remedy)))

function folder(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'courier-tls-'))
  t.teardown(() => rmSync(path, { recursive: true }))
  return path
}

function write(path: string, { cert, key }: Pair): { certFile: string; keyFile: string } {
  const files = { certFile: join(path, 'cert.pem'), keyFile: join(path, 'key.pem') }
  writeFileSync(files.certFile, cert)
  writeFileSync(files.keyFile, key)
  return files
}

t.test('authorities of the operator’s are trusted beside the usual ones', async t => {
  const usual = getCACertificates('default')
  t.teardown(() => setDefaultCACertificates(usual))
  // One that is there twice is there once behind it.
  const trusted = () =>
    new Set(getCACertificates('default').map(pem => new X509Certificate(pem).fingerprint256))
  const before = trusted().size
  const { root, intermediate, leaf } = await makeChain()
  trustAuthorities(undefined, () => {
    throw new Error('no file is to be read')
  })
  t.same(getCACertificates('default'), usual)
  trustAuthorities('/ca.pem', () => `${root.cert}\n${intermediate.cert}`)
  t.equal(trusted().size, before + 2)
  t.match(told(parseCertificate(leaf.cert, leaf.key).flaws), [/is missing/], 'they are not public ones')
  t.equal(readAuthorities(root.cert)?.length, 1)
  t.equal(readAuthorities('hello'), null, 'no certificate')
  t.equal(readAuthorities(root.cert.replace(/[A-Za-z0-9]{40}/, '!'.repeat(40))), null, 'a damaged one')
})

t.test('a certificate with its whole chain says its names and its end', async t => {
  const { root, intermediate, leaf } = await makeChain()
  const until = Date.now() + 40 * DAY_MS
  const { key, cert } = await makeCertificate('courier.example.com', { issuer: intermediate, until })
  const files = write(folder(t), { cert: `${cert}\n${intermediate.cert}\n${root.cert}`, key })
  const loaded = loadCertificate(files)
  t.match(loaded, { names: ['courier.example.com', '127.0.0.1'], chain: 'complete', key })
  t.ok(Math.abs(loaded.expiresAt - until) < 2000)
  t.match(told(loaded.flaws), [/Example Root\) is not a public one/], 'nobody knows this root')
  t.ok(loaded.covers('courier.example.com') && loaded.covers('127.0.0.1'))
  t.notOk(loaded.covers('www.example.com'))
  t.notOk(loaded.covers('192.0.2.1'))

  const mixed = parseCertificate(`${leaf.cert}\n${root.cert}\n${intermediate.cert}`, leaf.key)
  t.match(told(mixed.flaws), [/not a public one/], 'in whatever order')
})

t.test('a chain that ends below a public authority is complete without it', async t => {
  const { root, intermediate, leaf } = await makeChain()
  const [host, between, top] = readCertificates(`${leaf.cert}\n${intermediate.cert}\n${root.cert}`)
  if (host === undefined || between === undefined || top === undefined) throw new Error('three were made')
  t.same(followChain(host, [between], [top]), { chain: 'complete', flaw: null })
  t.same(followChain(host, [between, top], [top]), { chain: 'complete', flaw: null }, 'the root does no harm')
  t.equal(followChain(host, [], [top]).chain, 'incomplete')
  const usual = tls.getCACertificates
  // As NODE_EXTRA_CA_CERTS has them.
  Object.assign(tls, { getCACertificates: (of: string) => (of === 'extra' ? [root.cert] : []) })
  syncBuiltinESMExports()
  const own = followChain(host, [between], [])
  Object.assign(tls, { getCACertificates: usual })
  syncBuiltinESMExports()
  t.equal(own.chain, 'complete', 'an authority of the operator’s own is not missing')
  t.match(told([own.flaw ?? []].flat()), [/^its authority \(Example Root\) is not a public one/])
})

t.test('a leaf without its intermediate is what Java clients refuse', async t => {
  const { intermediate, leaf, root } = await makeChain()
  const alone = parseCertificate(leaf.cert, leaf.key)
  t.equal(alone.chain, 'incomplete')
  t.match(told(alone.flaws), [/issuer \(Example Intermediate\) is missing.*Java.*fullchain\.pem/])
  const gap = parseCertificate(`${leaf.cert}\n${root.cert}`, leaf.key)
  t.equal(gap.chain, 'incomplete', 'the root alone does not help')
  const withoutRoot = parseCertificate(`${leaf.cert}\n${intermediate.cert}`, leaf.key)
  t.match(told(withoutRoot.flaws), [/Example Root\) is missing/], 'nobody could have this root')
})

t.test('an authority of the same name with another key did not sign it', async t => {
  const { leaf } = await makeChain()
  const impostor = await makeCertificate('Example Intermediate', { authority: true })
  const { chain } = parseCertificate(`${leaf.cert}\n${impostor.cert}`, leaf.key)
  t.equal(chain, 'incomplete')
  const namesake = await makeCertificate('Example Intermediate', { issuer: impostor })
  t.equal(parseCertificate(namesake.cert, namesake.key).chain, 'incomplete', 'nor did it sign itself')
})

t.test('what clients stumble over is said', async t => {
  const now = Date.now()
  const host = 'courier.example.com'
  const flawsOf = async (wishes: Parameters<typeof makeCertificate>[1]) => {
    const { cert, key } = await makeCertificate('x', wishes)
    return told(parseCertificate(cert, key).flaws).join('\n')
  }
  const itself = await makeCertificate('x', {})
  t.match(parseCertificate(itself.cert, itself.key), { chain: 'self-signed' })
  t.match(await flawsOf({}), /self-signed/)
  t.match(await flawsOf({ authority: true }), /names no host/)
  const from = Math.floor(now / 1000) * 1000 - DAY_MS
  const until = from + 61 * DAY_MS
  const { cert, key } = await makeCertificate('x', { from, until })
  const refused = (at: number, called: string | undefined = host) =>
    told([whyRefused(parseCertificate(cert, key), called, at) ?? []].flat()).join()
  t.same(
    [from, until - 1].map(at => refused(at)),
    ['', ''],
  )
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10)
  t.match(refused(until), `expired on ${day(until)}: renew it`)
  t.match(refused(from - 1), `valid only from ${day(from)}: look at this machine's clock`)
  t.match(
    refused(now, 'www.example.com'),
    /is for courier\.example\.com, 127\.0\.0\.1, not for www\.example\.com/,
  )
})

t.test('a pair that cannot be served says why, without the key', async t => {
  const [one, other, weak] = await Promise.all([
    makeCertificate('one'),
    makeCertificate('other'),
    makeCertificate('weak', { bits: 1024 }),
  ])
  const refuses = (cert: string, key: string, why: RegExp) =>
    t.throws(() => parseCertificate(cert, key), { name: 'CertificateUnusable', message: why })
  refuses(one.cert, other.key, /^TLS_KEY_FILE is not the key of the first certificate/)
  refuses('hello', one.key, /^TLS_CERT_FILE holds no certificate/)
  const damaged = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'
  refuses(damaged, one.key, /^TLS_CERT_FILE holds a damaged certificate/)
  refuses(one.cert, 'hello', /^TLS_KEY_FILE holds no private key/)
  refuses(one.cert, '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA', /^TLS_KEY_FILE has a passphrase/)
  refuses(one.cert.replace(/[A-Za-z0-9]{40}/, 'A'.repeat(40)), one.key, /damaged|not the key/)
  refuses(weak.cert, weak.key, /^TLS_CERT_FILE .*cannot be served \(ERR_SSL_EE_KEY_TOO_SMALL\): get one/)
  const files = write(folder(t), one)
  for (const [file, setting] of Object.entries({ certFile: 'TLS_CERT_FILE', keyFile: 'TLS_KEY_FILE' }))
    t.throws(
      () => loadCertificate({ ...files, [file]: '/nowhere/a.pem' }),
      new RegExp(`^${setting} names /nowhere/a\\.pem, which cannot be read \\(ENOENT\\)`),
    )
})

interface Served {
  readonly port: number
  readonly lines: string[]
  readonly check: () => void
  readonly refused: CertificateWatch['refused']
}

/** An HTTPS server that answers with a line, and watches its pair. */
async function serve(
  t: Test,
  files: { certFile: string; keyFile: string },
  { everyMs = 60_000, now = Date.now }: { readonly everyMs?: number; readonly now?: () => number } = {},
): Promise<Served> {
  const current = loadCertificate(files)
  const server = createServer({ ...tlsServerOptions, cert: current.cert, key: current.key }, (_, response) =>
    response.end('hello'),
  )
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const lines: string[] = []
  const note = (facts: object, sentence: string) => lines.push(`${sentence} ${JSON.stringify(facts)}`)
  const host = 'courier.example.com'
  const log = { info: note, warn: note }
  const watch = watchCertificate({ server, ...files, current, host, everyMs, log, now })
  t.teardown(() => {
    watch.close()
    server.closeAllConnections()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    lines,
    check: () => watch.check(),
    refused: () => watch.refused(),
  }
}

function ask(options: RequestOptions): Promise<{ socket: TLSSocket; status: number | undefined }> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', rejectUnauthorized: false, ...options }, (response: IncomingMessage) => {
      const socket = response.socket as TLSSocket
      response.resume().on('end', () => resolve({ socket, status: response.statusCode }))
    })
      .on('error', reject)
      .end()
  })
}

/** The common name that a new connection is shown, which offers HTTP/1.0 alone. */
async function shown(port: number): Promise<string | undefined> {
  const { socket } = await ask({ port, agent: new Agent({ ALPNProtocols: ['http/1.0'] }) })
  return [socket.getPeerCertificate().subject.CN].flat()[0]
}

t.test('a renewed pair is served to new connections, and open ones go on', async t => {
  const [before, after] = await Promise.all([makeCertificate('before'), makeCertificate('after')])
  const path = folder(t)
  const files = write(path, before)
  const { port, lines, check } = await serve(t, files)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const first = await ask({ port, agent })
  t.equal(await shown(port), 'before')

  write(path, after)
  check()
  // What is served already is not served once more.
  check()
  t.equal(await shown(port), 'after')
  const second = await ask({ port, agent })
  t.equal(second.socket, first.socket, 'the same connection')
  t.equal(second.socket.getPeerCertificate().subject.CN, 'before')
  t.equal(lines.filter(line => line.startsWith('a renewed certificate is served')).length, 1)
})

t.test('files that are swapped by a symbolic link are noticed by themselves', async t => {
  const [before, after] = await Promise.all([makeCertificate('before'), makeCertificate('after')])
  const path = folder(t)
  const [one, two] = [join(path, 'one'), join(path, 'two')]
  for (const [at, pair] of [
    [one, before],
    [two, after],
  ] as const) {
    writeFileSync(`${at}.pem`, pair.cert)
    writeFileSync(`${at}.key`, pair.key)
  }
  const files = { certFile: join(path, 'live.pem'), keyFile: join(path, 'live.key') }
  symlinkSync(`${one}.pem`, files.certFile)
  symlinkSync(`${one}.key`, files.keyFile)
  const { port, lines } = await serve(t, files, { everyMs: 20 })
  for (const kind of ['pem', 'key']) {
    symlinkSync(`${two}.${kind}`, join(path, 'new'))
    renameSync(join(path, 'new'), join(path, `live.${kind}`))
  }
  while (!lines.some(line => line.startsWith('a renewed')))
    await new Promise(resolve => setTimeout(resolve, 10))
  t.equal(await shown(port), 'after')
})

t.test('half a pair is not served: the last good one is, and it is said once', async t => {
  const [before, after] = await Promise.all([makeCertificate('before'), makeCertificate('after')])
  const path = folder(t)
  const files = write(path, before)
  const { port, lines, check, refused } = await serve(t, files)
  writeFileSync(files.keyFile, after.key)
  check()
  t.match(refused(), { reason: /not the key/ }, 'the key came first')
  writeFileSync(files.keyFile, before.key)
  check()
  t.equal(refused(), null)
  t.equal(lines.splice(0).length, 1)
  writeFileSync(files.certFile, after.cert)
  check()
  check()
  t.equal(await shown(port), 'before')
  t.match(lines, [/cannot be used: the last good one.*not the key/])
  rmSync(files.keyFile)
  check()
  check()
  t.match(lines.slice(1), [/cannot be read \(ENOENT\)/])
  writeFileSync(files.keyFile, after.key)
  check()
  t.equal(await shown(port), 'after')
  t.notMatch(lines.join('\n'), readFileSync(files.keyFile, 'utf8').slice(40, 80), 'no key in the log')
  t.match(lines.slice(2), [/^a renewed certificate is served/, /self-signed/])
  t.equal(lines.length, 4)
})

t.test('one that clients would refuse is not taken while the one before is better', async t => {
  let now = Date.now()
  const until = now + 30 * DAY_MS
  const make = (name: string, more: object) => makeCertificate(name, { until, ...more })
  const before = await make('before', {})
  const path = folder(t)
  const files = write(path, before)
  const { port, lines, check, refused } = await serve(t, files, { now: () => now })
  const began = now
  for (const [name, more, why] of [
    ['expired', { from: now - 9 * DAY_MS, until: now - DAY_MS }, /expired on \d{4}-\d\d-\d\d$/],
    ['early', { from: now + DAY_MS, until: now + 40 * DAY_MS }, /valid only from/],
    ['weak', { bits: 1024 }, /cannot be served/],
    [
      'elsewhere',
      { hosts: ['www.example.com', '127.0.0.1'] },
      /is for www\.example\.com, 127\.0\.0\.1, not for courier\.example\.com/,
    ],
  ] as const) {
    write(path, await make(name, more))
    check()
    now += 60_000
    check()
    t.match(refused(), { since: began, reason: why }, `${name}: since the first of them`)
    t.equal(await shown(port), 'before')
  }
  t.equal(lines.length, 4, 'each is said once')
  write(path, before)
  check()
  t.equal(refused(), null, 'put back: nothing is refused')

  now = until + DAY_MS
  write(path, await make('late', { from: began - 9 * DAY_MS, until: until + DAY_MS / 2 }))
  check()
  t.equal(refused(), null, 'it ended later than what is served, which has ended, too')
  write(path, await make('early', { from: now + DAY_MS, until: now + 40 * DAY_MS }))
  check()
  t.equal(refused(), null, 'what is served has expired: nothing is worse')
  t.equal(await shown(port), 'early')
})

t.test('a pair for another name is taken where the one before was not for ours either', async t => {
  const [before, after] = await Promise.all([
    makeCertificate('before', { hosts: ['old.example.com', '127.0.0.1'] }),
    makeCertificate('after', { hosts: ['www.example.com', '127.0.0.1'] }),
  ])
  const path = folder(t)
  const { port, check, refused } = await serve(t, write(path, before))
  const now = Date.now()
  write(path, await makeCertificate('expired', { from: now - 9 * DAY_MS, until: now - DAY_MS }))
  check()
  t.match(refused(), { reason: /expired on/ }, 'a wrong name is better than one that has expired')
  t.equal(await shown(port), 'before')
  write(path, after)
  check()
  t.equal(refused(), null)
  t.equal(await shown(port), 'after')
})
