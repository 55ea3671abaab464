import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import t from 'tap'
import {
  checkSender,
  createResolveTxt,
  type ResolveTxt,
  readTxt,
} from '../../../src/commands/check/sender.ts'
import { tell } from '../../../src/language/sentence.ts'
import { enough, load } from '../../config/settings.ts'
import { inEnglish } from '../../language/english.ts'
import { linesOf } from './lines.ts'

const sender = { ...enough, MAIL_FROM: 'Example <no-reply@mail.corp.com>' }
const DMARC = { '_dmarc.corp.com': ['v=DMARC1; p=quarantine; rua=mailto:a@corp.com'] }

/** A DNS with nothing but these texts, each in two pieces. */
function dns(texts: Readonly<Record<string, readonly string[]>>): ResolveTxt {
  return async name => {
    const found = texts[name]
    if (found === undefined) throw Object.assign(new Error(name), { code: 'ENOTFOUND' })
    return found.map(text => [text.slice(0, 6), text.slice(6)])
  }
}

const look = async (resolve: ResolveTxt, settings = {}) =>
  linesOf(await checkSender(load({ ...sender, ...settings }), resolve))

t.test('a domain without records: what to publish, and where', async t => {
  t.same(await look(dns({})), [
    "warn SPF: mail.corp.com has no SPF record → publish the TXT record that your mail server's operator names, such as: v=spf1 include:… ~all",
    'warn DMARC: mail.corp.com has no DMARC record, which large mailbox providers ask for → publish a TXT record under _dmarc.mail.corp.com: v=DMARC1; p=none; rua=mailto:… and tighten it once the reports are clean',
  ])
})

t.test('records that are there, DMARC with the domain above', async t => {
  t.same(await look(dns({ 'mail.corp.com': ['some-site=1', 'v=spf1 ip4:192.0.2.1 -all'], ...DMARC })), [
    'ok SPF: mail.corp.com names who may send: v=spf1 ip4:192.0.2.1 -all',
    'ok DMARC: corp.com has p=quarantine',
  ])
})

t.test('an SPF record that does harm', async t => {
  const spf = async (...texts: string[]) => (await look(dns({ 'mail.corp.com': texts, ...DMARC })))[0]
  for (const open of ['v=spf1 mx +all', 'v=spf1 all', 'V=SPF1 mx +ALL'])
    t.equal(
      await spf(open),
      'warn SPF: mail.corp.com lets everybody send in its name (+all) → let it end in ~all or -all',
    )
  t.equal(
    await spf('v=spf1 mx -all', 'v=spf1 a -all'),
    'warn SPF: mail.corp.com has 2 SPF records, which receivers take for a fault → make them one',
  )
  t.match(await spf('v=spf10 mx -all'), /^warn SPF: .*no SPF record/)
  t.match(await spf('v=spf1 include:small.example ?all'), /^ok SPF/)
})

t.test('SPF is looked up where bounces go, and only a policy that is there is told', async t => {
  const elsewhere = { MAIL_BOUNCE_TO: 'bounces@mailer.net' }
  t.match(await look(dns({ 'mailer.net': ['v=spf1 mx -all'], ...DMARC }), elsewhere), [
    /^ok SPF: mailer\.net/,
    /^ok/,
  ])
  const dmarc = async (texts: Record<string, readonly string[]>) => (await look(dns(texts)))[1] ?? ''
  t.match(await dmarc({ '_dmarc.mail.corp.com': ['v=DMARC1; rua=mailto:a@corp.com'] }), 'p=none')
  t.match(await dmarc({ '_dmarc.com': ['v=DMARC1; p=reject'] }), 'no DMARC record')
})

t.test('a domain whose name only ends like one for examples is looked up', async t => {
  const from = (domain: string) => look(dns({}), { MAIL_FROM: `Example <a@${domain}>` })
  for (const domain of ['my-example.com', 'corp.notinternal', 'test.com'])
    t.match(await from(domain), [/^warn SPF/, /^warn DMARC/], domain)
  for (const domain of [
    'localhost',
    'a.example',
    'a.invalid',
    'a.test',
    'a.localhost',
    'a.local',
    'a.internal',
  ])
    t.same(await from(domain), [
      `warn MAIL_FROM: ${domain} is no domain of the internet: receivers refuse such a sender → set MAIL_FROM to an address of your own domain`,
    ])
})

t.test('without a name server it says so', async t => {
  const offline: ResolveTxt = () => Promise.reject(Object.assign(new Error('x'), { code: 'ETIMEOUT' }))
  t.same(await look(offline), [
    'warn SPF: could not be looked up from here (ETIMEOUT) → look from elsewhere: dig +short TXT mail.corp.com',
    'warn DMARC: could not be looked up from here (ETIMEOUT) → look from elsewhere: dig +short TXT _dmarc.mail.corp.com',
  ])
  const [spf] = await checkSender(load(sender), () => Promise.reject(new Error('x')))
  t.equal(spf && tell(spf.what).in('zh-CN'), '从本机无法查询（无响应）')
})

t.test('nothing is looked up when e-mail is off', async t => {
  const never: ResolveTxt = name => Promise.reject(new Error(`asked for ${name}`))
  t.same(await look(never, { EMAIL_TOKEN: '' }), [])
})

t.test('a name server that never answers is given up soon', async t => {
  const silent = createSocket('udp4')
  await new Promise<void>(resolve => silent.bind(0, '127.0.0.1', resolve))
  t.teardown(() => silent.close())
  const { port } = silent.address()
  const resolver = new Resolver({ timeout: 3_600_000, tries: 1 })
  resolver.setServers([`127.0.0.1:${port}`])
  const looked = await readTxt(createResolveTxt(200, resolver), 'example.com')
  t.match(inEnglish(looked), { why: 'ECANCELLED' })
})
