import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import t from 'tap'
import { quote } from '../../src/language/sentence.ts'
import type { MessageView } from '../../src/outbox/outbox.ts'
import { createProbe, createProbePost, listProbes } from '../../src/service/probe.ts'
import { enough, load } from '../config/settings.ts'
import { restoreTrust } from '../rigs/authorities.ts'
import { startImap } from '../rigs/imap-server.ts'
import { inZone } from '../rigs/in-zone.ts'
import { listen } from '../rigs/listen.ts'
import { smsBody, startRig, until } from '../rigs/service.ts'
import { enterVirtualTime } from '../rigs/virtual-time.ts'

const RECORD = JSON.parse(readFileSync(new URL('../fixtures/probe.txt', import.meta.url), 'utf8'))
const MINUTE = 60_000
/** An hour ago by the clock: no next code is due while a test lasts, or puts its clock forward by some minutes. */
const PROBE_AT = new Date(Date.now() - 60 * MINUTE).toTimeString().slice(0, 5)
const NUMBER = '+8613800138000'

t.test('a code a day, at its hour, by one replica, until one arrives', async t => {
  inZone(t, 'Asia/Shanghai')
  const time = enterVirtualTime(t)
  const start = Date.parse('2026-11-28T22:20:00+08:00')
  const clock = { now: () => start + time.now() }
  const memos = new Map<string, string>()
  const messages = new Map<string, MessageView>()
  const posted: string[] = []
  const sendable = { state: 'sent', receipt: null as { status: string } | null, isAccepted: true }
  const kept = new Set<unknown>()
  let isAway = false
  let leads = true
  const begin = (takeLease?: () => Promise<boolean>) =>
    createProbe({
      targets: new Map([['sms', NUMBER]]),
      at: '09:20',
      async post(channel, to, id) {
        posted.push(`${new Date(clock.now()).toTimeString().slice(0, 5)} ${channel} ${to}`)
        const { isAccepted, ...message } = sendable
        if (isAccepted) messages.set(id, { id, ...message } as MessageView)
        return quote('ECONNREFUSED')
      },
      findMessage: async id => (isAway ? Promise.reject(new Error('x')) : (messages.get(id) ?? null)),
      memos: {
        readMemos: async names =>
          new Map(names.flatMap(name => (memos.has(name) ? [[name, memos.get(name) ?? '']] : []))),
        async writeMemo({ name, value, expiresAt }) {
          memos.set(name, value)
          kept.add(`${name} for ${expiresAt - clock.now()}`)
        },
      },
      takeLease,
      clock,
    })
  const said = ({ failures }: Pick<ReturnType<typeof begin>, 'failures'>) =>
    failures().map(({ since, why }) => `${new Date(since).toISOString().slice(8, 16)} ${String(why)}`)
  const report = (status: string) => {
    const [id = '', message] = [...messages].at(-1) ?? []
    messages.set(id, { ...message, receipt: { status } } as MessageView)
  }

  leads = false
  const other = begin(async () => leads)
  other.start()
  await time.pass(MINUTE)
  t.same(posted, [], 'another replica leads')
  leads = true
  await time.pass(MINUTE)
  t.same([said(other), posted.splice(0)], [[], ['22:21 sms +8613800138000']], 'the first goes out at once')
  await time.pass(10 * MINUTE)
  report('delivered')
  await time.pass(30 * MINUTE)
  await other.stop()
  const probe = begin()
  probe.start()
  await time.pass(10 * 60 * MINUTE)
  t.same([said(probe), posted.splice(0)], [[], []], 'it has arrived, and a restart sends none')

  sendable.isAccepted = false
  await time.pass(32 * MINUTE)
  t.same(said(probe), [])
  await time.pass(MINUTE + 1000)
  const codes = ['09:20', '09:25', '09:30', '09:35'].map(at => `${at} sms +8613800138000`)
  t.same(posted.splice(0), codes)
  t.same(said(probe), ['29T01:20 ECONNREFUSED'], 'what is not accepted is tried again, and told')
  await probe.stop()
  t.same(said(probe), [], 'by who leads')
  probe.start()
  await time.pass(0)
  t.same(said(probe), ['29T01:20 it was not accepted'])
  for (const state of ['refused', 'superseded', 'expired']) {
    Object.assign(sendable, { isAccepted: true, state })
    await time.pass(5 * MINUTE)
    t.same([said(probe), posted.splice(0).length], [[`29T01:20 ${state}`], 1])
  }
  sendable.state = 'sent'
  isAway = true
  await time.pass(10 * MINUTE)
  t.same(posted.splice(0), [], 'what the store cannot say is looked at again')
  isAway = false
  await time.pass(10 * MINUTE)
  t.equal(posted.splice(0).length, 1)
  await time.pass(30 * MINUTE)
  t.same([said(probe), posted], [['29T01:20 sent'], []], 'what went out is waited for')
  await time.pass(23 * 60 * MINUTE)
  t.same([said(probe), posted.length], [['29T01:20 sent'], 1], 'until another day brings one')
  report('undelivered')
  await time.pass(15 * MINUTE)
  t.same(said(probe), ['29T01:20 undelivered'])
  report('read')
  await time.pass(MINUTE)
  t.same(said(probe), [])
  await probe.stop()
  t.same([...kept], ['probe/sms for 2592000000'])
})

t.test('it goes the whole way, past what holds others, and nobody else does', async t => {
  restoreTrust(t)
  const imap = await startImap(t)
  const rig = await startRig(t, { QUOTAS: 'sms-day=1', PROBE_AT })
  t.equal((await rig.post('sms', smsBody())).errCode, 0)
  await until(() => rig.twilio.messages.length === 1, 'the quota is used up')
  // Its first attempt goes back into the store, from which it is claimed.
  rig.smtp.act = ({ step }) => (step === 'RCPT' ? { is: 'say', reply: '451 4.3.0 later' } : undefined)
  await rig.restart({
    PUBLIC_URL: 'https://localhost',
    TLS_CA_FILE: `${rig.directory}/cert.pem`,
    PROBE_TO: `${NUMBER}, Bounces@Example.com`,
    BOUNCE_IMAP_URL: `imap://ann:password@127.0.0.1:${imap.port}/INBOX?ignoreTLS=true`,
    ALLOWED_SOURCES: '203.0.113.0/24',
    ONLY_TO: '@nobody.example',
    POST_SIGNATURE: 'required',
  })
  await until(() => rig.twilio.messages.length === 2, 'an SMS')
  t.equal(rig.twilio.messages[1]?.to, NUMBER)
  await until(() => rig.log.some(line => line.includes('451 4.3.0')), 'the mail has to wait')
  rig.smtp.act = undefined
  await until(() => rig.smtp.mails.length === 1, 'a mail')
  const [mail] = rig.smtp.mails
  t.same(mail?.to, ['Bounces@example.com'])
  t.match(
    rig.events().filter(each => each['event'] === 'callback' && each['check'] === true),
    [
      { channel: 'sms', err_code: 0, signature: 'right' },
      { channel: 'email', err_code: 0, signature: 'right' },
    ],
    'it counts as none of the platform’s',
  )
  const id = /^X-Callback-Courier: ([0-9a-f]{32})\r$/m.exec(String(mail?.data))?.[1] ?? ''
  imap.renew([
    [1, String(mail?.data).replace(id, id.replace(/^./, 'f'))],
    [2, String(mail?.data)],
  ])
  await until(async () => /"status":"delivered"/.test(await rig.page(`/api/v1/messages/${id}`)), 'it arrived')
  t.same(imap.moved, [], 'it stays in the mailbox')
  t.match(JSON.parse(await rig.page('/readyz')), { status: 'ready', degraded: [] })

  const stranger = { method: 'POST', headers: { 'callback-courier-probe': id }, body: '{}' } as const
  t.equal((await rig.ask(`${rig.path('sms')}?${rig.sign('sms')}`, stranger)).errCode, 4031003)
  await rig.restart({ ONLY_TO: '@nobody.example', QUOTAS: 'sms-day=off' })
  t.equal((await rig.post('sms', smsBody({ to: NUMBER }))).errCode, 0)
  t.equal(rig.twilio.messages.length, 2, 'its recipient opens nothing')
  t.notMatch(rig.log.join(''), /Bounces@|8613800138000/i)
})

t.test('whom a code goes to, and why none does', async t => {
  const listed = (more: Readonly<Record<string, string>>, ...reporting: readonly string[]) => {
    const { targets, gaps } = listProbes(
      load({ ...enough, PUBLIC_URL: 'https://courier.example.com', ...more }),
      new Set(reporting),
    )
    return [[...targets.values()], gaps.map(String)]
  }
  t.same(listed({ PROBE_TO: NUMBER }, 'twilio'), [[NUMBER], []])
  const both = { PROBE_TO: `${NUMBER}, ann@example.com`, BOUNCE_IMAP_URL: 'imaps://a:b@mail.example.com' }
  t.same(listed(both, 'twilio'), [[NUMBER, 'ann@example.com'], []])
  const second = { ALIYUN_ACCESS_KEY_ID: 'id', ALIYUN_ACCESS_KEY_SECRET: 'key', ALIYUN_SMS_SIGN_NAME: '示例' }
  const routed = { ...both, ...second, SMS_ROUTES: 'CN=aliyun,twilio; *=twilio' }
  t.same(listed(routed, 'twilio', 'aliyun'), [[NUMBER, 'ann@example.com'], []])
  const given = [{ ...both, SMS_TOKEN: '' }, { ...both, EMAIL_TOKEN: '' }, routed]
  t.same([...given.map(each => listed(each, 'twilio')), listed(both)], RECORD.listed)
})

t.test('a certificate for another host, and a channel that nobody would see, are told', async t => {
  restoreTrust(t)
  const rig = await startRig(t, { PROBE_AT })
  const settings = {
    PUBLIC_URL: 'https://courier.example.com',
    TLS_CA_FILE: `${rig.directory}/cert.pem`,
    PROBE_TO: `${NUMBER}, ann@example.com`,
  }
  await rig.restart(settings)
  t.match(rig.log.join(''), 'no mail is sent to PROBE_TO: BOUNCE_IMAP_URL names no mailbox')
  await rig.restart(settings, { clock: { now: () => Date.now() + 20 * MINUTE } })
  await until(
    async () =>
      /class="fail">.*?The daily code to PROBE_TO by SMS has not arrived since .*?: Hostname\/IP does not match/.test(
        await rig.page('/console'),
      ),
    'a first line',
  )
  t.match(await rig.page('/metrics'), 'callback_courier_probe_missing{channel="sms"} 1\n')
  t.match(JSON.parse(await rig.page('/readyz')), { status: 'ready', degraded: [] })
  t.same([rig.twilio.messages.length, rig.smtp.mails.length], [0, 0])
})

t.test('a code is a callback of our own, and what refuses it is why it has not arrived', async t => {
  inZone(t, 'Asia/Shanghai')
  const seen: unknown[] = []
  const server = createServer({ keepAliveTimeout: 600_000 }, async (request, response) => {
    const { url: path, headers } = request
    const body = String((await request.toArray()).map(String)).replace(/"code":"\d{6}"/, '"code":"C"')
    seen.push(path?.replace(/=\d+&signature=[0-9a-f]{40}$/, '=T'), headers['user-agent'], body)
    seen.push(headers['callback-courier-probe'])
    request.socket.once('close', () => seen.push('hung up'))
    response.end('{"err_code": 4002002, "err_msg": "no number"}')
  })
  const own = { ownUrl: () => url, expectProbe: (id: string) => void seen.push(id), now: () => 0 }
  const url = `http://127.0.0.1:${await listen(t, server)}`
  const post = createProbePost(load({ ...enough, PUBLIC_URL: 'https://a.example', LOCALE: 'zh-CN' }), own)
  t.equal(String(await post('sms', NUMBER, 'id-1')), 'no number')
  await until(() => seen.includes('hung up'), 'it hangs up')
  t.same(seen.splice(0), RECORD.sms)
  await post('email', 'ann@example.com', 'id-2')
  t.same(seen.slice(0, 5), RECORD.mail)
})
